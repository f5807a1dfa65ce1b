/** What a start of the API has for who begins here: an account to try it with, and the link that makes the first person. */
import { hasUser } from '../../users/users.sql.ts'
import { type FirstAccount, openFirstAccount } from '../accounts/first-account.ts'
import type { Gateway } from '../gateway.ts'
import { inviteFirstPerson } from './join.ts'

export interface FirstSteps {
  /** Made by this start, when it was the first one ever; its key is shown nowhere else. */
  readonly account: FirstAccount | null
  /** Makes the first person; null once there is one. */
  readonly personLink: string | null
  /** There is no person yet, and no link was made. */
  readonly lacksPerson: boolean
}

export const NO_FIRST_STEPS: FirstSteps = { account: null, personLink: null, lacksPerson: false }

/**
 * @param showsSecrets - Not into a journal, which is kept and read by many: then no key and no link is made.
 * @param isForTrying - Whether it may make a test account, where there is none.
 */
export async function takeFirstSteps(
  gateway: Pick<Gateway, 'db' | 'settings'>,
  { showsSecrets, isForTrying }: { readonly showsSecrets: boolean; readonly isForTrying: boolean },
): Promise<FirstSteps> {
  if (!showsSecrets) return { ...NO_FIRST_STEPS, lacksPerson: !(await hasUser(gateway.db)) }
  const account = isForTrying ? await openFirstAccount(gateway) : null
  return { account, personLink: await inviteFirstPerson(gateway), lacksPerson: false }
}
