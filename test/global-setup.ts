/**
 * One real PostgreSQL for the whole test run, with migrated templates that each test file clones. It is started when
 * the first test asks for it, so that a test of pure code waits for none.
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from '../src/db/database.ts'
import { TEMPLATES, TEST_CLUSTER_VARIABLE, type TestCluster } from './database.ts'

interface Running extends TestCluster {
  stop(): Promise<void>
}

let server: Server | undefined
let starting: Promise<Running> | undefined

export async function globalSetup(): Promise<void> {
  server = createServer((_, response) => {
    starting ??= startCluster()
    starting.then(
      ({ url, sockets }) => response.end(JSON.stringify({ url, sockets } satisfies TestCluster)),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  server.unref()
  process.env[TEST_CLUSTER_VARIABLE] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export async function globalTeardown(): Promise<void> {
  server?.close()
  // Tests were told why it did not start.
  await (await starting?.catch(() => undefined))?.stop()
}

async function startCluster(): Promise<Running> {
  // Read here, for a run of pure tests needs none of it.
  const [
    { startCluster: start },
    { openDatabase },
    { migrate },
    { fillTestWallets, TEMPLATE_CHANGE, TEMPLATE_FRESH },
  ] = await Promise.all([
    import('../src/db/embedded/embedded.ts'),
    import('../src/db/database.ts'),
    import('../src/db/migrate.ts'),
    import('./wallet.ts'),
  ])
  // A socket's path has a hundred characters.
  const folder = await mkdtemp(join(tmpdir(), 'pg-'))
  // PostgreSQL's user is another one than root, and whoever else is here may neither ask it nor take its socket away.
  await chmod(folder, 0o711)
  const sockets = join(folder, 's')
  await mkdir(sockets)
  await chmod(sockets, 0o1777)
  const access = join(folder, 'pg_hba.conf')
  await writeFile(access, 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n')
  await chmod(access, 0o644)
  // Crash safety of the server itself is not under test here; durability is switched off for speed.
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'synchronous_commit=off',
    'max_connections=400',
    'shared_buffers=256MB',
    // No database lives long enough to be worth it.
    'autovacuum=off',
    // Over TCP a password is asked for, as of a Beck. To prove it thousands of times takes longer than most tests' statements.
    `hba_file=${access}`,
    `unix_socket_directories=${sockets}`,
    'unix_socket_permissions=0700',
  ]
  const cluster = await start({ dataDir: join(folder, 'data'), settings })
  try {
    const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
    const make = async (name: string, from: string, fill: (db: Database) => Promise<unknown>) => {
      await admin.query(`create database ${name} template ${from} strategy file_copy`)
      const template = openDatabase({ url: cluster.url(name), connectionsMax: 2 })
      await fill(template)
      await template.close()
    }
    await make(TEMPLATES.migrated, 'template0', migrate)
    await make(TEMPLATES.wallets, TEMPLATES.migrated, (db) =>
      fillTestWallets(db, { freshPerChain: TEMPLATE_FRESH, change: TEMPLATE_CHANGE }),
    )
    await admin.close()
  } catch (error) {
    // A migration that fails ends the run; a server that went on would keep it waiting.
    await cluster.stop()
    throw error
  }
  return {
    url: cluster.url('postgres'),
    sockets,
    async stop() {
      await cluster.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
