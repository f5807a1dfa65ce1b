import type { Terminal } from './terminal.ts'
import { migrateRecorded, withStore } from './tool.ts'

export async function migrateDatabase(terminal: Terminal): Promise<void> {
  const applied = await withStore(({ db }) => migrateRecorded(db), { migrated: false })
  terminal.answer(
    { applied },
    applied.length === 0
      ? ['The database is up to date.']
      : ['Ran now:', ...applied.map((name) => `  ${name}`)],
  )
}
