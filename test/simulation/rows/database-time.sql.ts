import type * as real from '../../../src/flows/database-time.sql.ts'
import { run } from './tables.ts'

export const readDatabaseTime: typeof real.readDatabaseTime = (db) => run(db, (tables) => tables.now())
