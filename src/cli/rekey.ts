/** `beck rekey`: everything that BECK_SECRET_KEY seals and authenticates is made anew with it; the old one may go then. */
import { conflict, invalid } from '../core/errors.ts'
import { keyIdOf, openSecrets } from '../core/secrets.ts'
import { type Rekeyed, rekey } from '../flows/operation/rekey.ts'
import { keepKeyId, setKeyId } from '../flows/operation/secret-key.sql.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

export async function rekeyDatabase(terminal: Terminal): Promise<void> {
  const { from, to, ...result } = await withStore(async ({ db, secretKey, alsoSecretKey, secrets }) => {
    if (!alsoSecretKey)
      throw invalid(
        'no_old_key',
        'set BECK_SECRET_KEY to the new key and BECK_SECRET_KEY_ALSO to the old one, here and for every Beck on this database; or, with a key in the data directory, move secret.key to secret.key.old and start Beck, which makes a new one',
      )
    const [to, other] = [keyIdOf(secretKey), keyIdOf(alsoSecretKey)]
    const from = await keepKeyId(db, other)
    if (from !== to && from !== other)
      throw conflict(
        'other_secret_key',
        `the database was made with the key ${from}; given were ${to} and, as the other one, ${other}`,
      )
    await db.transaction((tx) =>
      recordCommand(tx, {
        action: 'secret_key.rotate',
        subject: to,
        before: { key: other },
        after: { key: to },
      }),
    )
    const result = await rekey(db, { next: openSecrets(secretKey), nextId: to, both: secrets })
    if (isWhole(result)) await setKeyId(db, to)
    return { from: other, to, ...result }
  })
  const isDone = isWhole(result)
  terminal.answer({ from, to, done: isDone, ...result }, [
    ...table(result.columns.map(({ name, rows, renewed }) => [name, `${renewed} of ${rows}`])),
    ...result.tampered.map((row) => `made by neither key: ${row}`),
    ...result.stillOld.map((name) => `still written with the key ${from}: ${name}`),
    ...result.notRestarted.map((who) => `runs with another key than ${to}: ${who}`),
    isDone
      ? `Everything is under the key ${to} now; the key ${from} may go: take BECK_SECRET_KEY_ALSO, or secret.key.old, away.`
      : whatIsLeft(result, from),
  ])
  if (!isDone) process.exitCode = 1
}

const isWhole = ({ tampered, stillOld, notRestarted }: Rekeyed): boolean =>
  tampered.length === 0 && stillOld.length === 0 && notRestarted.length === 0

const whatIsLeft = ({ stillOld, notRestarted }: Rekeyed, from: string): string =>
  stillOld.length > 0 || notRestarted.length > 0
    ? `Some process writes with the key ${from} still: restart each with the new key in BECK_SECRET_KEY, and run this again half a minute later. Do not give the old key away before.`
    : `Left as they are; what neither key made is of no use to Beck. Look into it before you give the key ${from} away.`
