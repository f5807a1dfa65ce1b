/** One real PostgreSQL for the whole test run, with a migrated template that each test file clones. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../src/db/database.ts'
import { type Cluster, startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { TEMPLATE_DATABASE, TEST_CLUSTER_VARIABLE } from './database.ts'

let cluster: Cluster | undefined
let folder: string | undefined

export async function globalSetup(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'beck-test-'))
  // Crash safety of the server itself is not under test here; durability is switched off for speed.
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'synchronous_commit=off',
    'max_connections=400',
    'shared_buffers=256MB',
  ]
  cluster = await startCluster({ dataDir: folder, settings })
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  await admin.query(`create database ${TEMPLATE_DATABASE}`)
  await admin.close()
  const template = openDatabase({ url: cluster.url(TEMPLATE_DATABASE), connectionsMax: 2 })
  await migrate(template)
  await template.close()
  process.env[TEST_CLUSTER_VARIABLE] = cluster.url('postgres')
}

export async function globalTeardown(): Promise<void> {
  await cluster?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
}
