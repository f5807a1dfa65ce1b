/** Every action of the dashboard with the story in which it is pressed. */
import { MONEY_STORIES, PAYMENT_STORIES } from './payments.ts'
import { DOOR_STORIES, OPERATOR_STORIES, PERSON_STORIES } from './people.ts'
import { APPROVAL_STORIES, PROGRAM_STORIES, SETTING_STORIES, TEAM_STORIES } from './settings.ts'
import type { Stories } from './story.ts'

export const GROUPS: Readonly<Record<string, Stories>> = {
  payments: PAYMENT_STORIES,
  'money that leaves': MONEY_STORIES,
  settings: SETTING_STORIES,
  'keys and webhooks': PROGRAM_STORIES,
  team: TEAM_STORIES,
  approvals: APPROVAL_STORIES,
  'coming in': DOOR_STORIES,
  'one’s own sign-in': PERSON_STORIES,
  'the operator’s': OPERATOR_STORIES,
}
