/** Authorities and certificates made for one test, by openssl. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export interface Certificate {
  /** Files in PEM. */
  readonly key: string
  readonly certificate: string
}

export interface Authority {
  /** Its own certificate, in PEM. */
  readonly file: string
  /**
   * A certificate for one name: `DNS:localhost`, `IP:127.0.0.1`.
   *
   * @param days - For how long it is good; one of yesterday is -1.
   */
  issue(name: string, days?: number): Promise<Certificate>
}

export async function makeAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'beck-authority-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const [key, file] = [join(folder, 'ca.key'), join(folder, 'ca.pem')]
  await run('openssl', [
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    key,
    '-out',
    file,
    '-days',
    '2',
    '-subj',
    '/CN=Test authority',
  ])
  let issued = 0
  return {
    file,
    async issue(name, days = 2) {
      const path = join(folder, String(++issued))
      const made = { key: `${path}.key`, certificate: `${path}.pem` }
      await run('openssl', [
        'req',
        ...KEY,
        '-keyout',
        made.key,
        '-out',
        `${path}.csr`,
        '-subj',
        '/CN=Test server',
      ])
      await writeFile(`${path}.ext`, `subjectAltName=${name}\n`)
      await run('openssl', [
        ...['x509', '-req', '-in', `${path}.csr`, '-CA', file, '-CAkey', key, '-CAcreateserial'],
        ...['-out', made.certificate, '-days', String(days), '-extfile', `${path}.ext`],
      ])
      return made
    },
  }
}
