import type * as real from '../../../src/accounts/accounts.sql.ts'
import { run } from './tables.ts'

export const findAccount: typeof real.findAccount = (db, id) =>
  run(db, (tables) => tables.accounts.get(id) ?? null)
