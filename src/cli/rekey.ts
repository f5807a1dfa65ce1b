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
    if (isOver(result)) await setKeyId(db, to)
    return { from: other, to, ...result }
  })
  const isDone = isOver(result)
  terminal.answer({ from, to, done: isDone, ...result }, [
    ...table(result.columns.map(({ name, rows, renewed }) => [name, `${renewed} of ${rows}`])),
    ...result.tampered.map((row) => `made by neither key: ${row}`),
    ...result.stillOld.map((name) => `still written with the key ${from}: ${name}`),
    ...result.notRestarted.map((who) => `runs with another key than ${to}: ${who}`),
    ...(isDone ? goodbye(result, from, to) : [waiting(from)]),
  ])
  if (!isDone || result.tampered.length > 0) process.exitCode = 1
}

/**
 * Nothing of the old key is left that it could be needed for. What neither key made is no reason to wait: it is as unusable
 * under the new one, and who has the old one could keep it accepted for ever by writing such a row.
 */
const isOver = ({ stillOld, notRestarted }: Rekeyed): boolean =>
  stillOld.length === 0 && notRestarted.length === 0

const waiting = (from: string): string =>
  `Some process writes with the key ${from} still: restart each with the new key in BECK_SECRET_KEY, and run this again half a minute later. Do not give the old key away before.`

const isAct = (row: string): boolean => row.startsWith('audit_log ')

const goodbye = ({ tampered }: Rekeyed, from: string, to: string): string[] => [
  `Everything${tampered.some(isAct) ? ' but the audit log' : tampered.length > 0 ? ' else' : ''} is under the key ${to} now; the key ${from} may go: take BECK_SECRET_KEY_ALSO, or secret.key.old, away.`,
  // Acts are a chain: none of them is made anew while one is broken.
  ...(tampered.some(isAct)
    ? [
        `But keep the key ${from} where nobody else finds it: the whole audit log is still under it, and npx beck audit verify needs it to tell what came before the break.`,
      ]
    : []),
  ...(tampered.length > 0
    ? [
        'What neither key made is left as it is, and of no use to Beck. Look into it: somebody changed it, or a disk did.',
      ]
    : []),
]
