/** The code that an authenticator app shows, checked and used up. */
import type { UserId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { type Totp, takeTotpCounter } from '../../users/factors.sql.ts'
import { readTotp } from '../../users/totp.ts'
import type { Gateway } from '../gateway.ts'

/** @returns Whether it is the app's code of now, taken for the first time. */
export async function takeAppCode(
  { secrets }: Pick<Gateway, 'secrets'>,
  tx: Tx,
  userId: UserId,
  { secretSealed }: Totp,
  code: string,
): Promise<boolean> {
  const counter = readTotp(secrets.open('totp', userId, secretSealed), code, Date.now())
  return counter !== null && takeTotpCounter(tx, userId, secretSealed, counter)
}
