/** Three machines with etcd, Patroni and PostgreSQL from the file of the guide, on addresses of the loopback. */
import assert from 'node:assert/strict'
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { pause } from '../../src/core/pause.ts'
import { until, waitFor } from '../wait-for.ts'
import { type Machine, startMachine } from './machine.ts'

const FILE = new URL('../../deploy/high-availability/patroni.yml', import.meta.url)
const HOSTS = ['127.0.77.21', '127.0.77.22', '127.0.77.23'] as const
export type Host = (typeof HOSTS)[number]
export const SUPERUSER_PASSWORD = 'change-me'

/** As `safety_margin` of the watchdog says: so long before the leader's lock ends, its machine is reset. */
const WATCHDOG_MS = 10_000

/** `leadsUntilMs`: when the watchdog of a leader bites; null on the others. */
type Running = Map<Host, { readonly machine: Machine; leadsUntilMs: number | null }>

export interface Cluster {
  /** The primary, once there is one. */
  leader(): Promise<Host>
  /** A leader, a standby that every commit waits for, and another. */
  untilWhole(): Promise<void>
  cutPower(host: Host): Promise<void>
  freeze(host: Host): Promise<void>
  /** Resolves when the watchdog has reset it. */
  untilReset(host: Host): Promise<void>
  start(host: Host): void
}

/** @param folder - Where the machines have their disks; the user postgres gets into it. */
export async function startCluster(folder: string, postgres: { uid: number; gid: number }): Promise<Cluster> {
  const running: Running = new Map()
  const commands = new Map<Host, string>()
  for (const host of HOSTS) commands.set(host, await writeMachine(folder, host, postgres))
  const machineOf = (host: Host) => running.get(host)?.machine ?? assert.fail(`${host} runs`)
  const start = (host: Host) => {
    running.set(host, { machine: startMachine(commands.get(host) ?? assert.fail()), leadsUntilMs: null })
  }
  const cutPower = async (host: Host) => {
    const machine = machineOf(host)
    running.delete(host)
    await machine.cutPower()
  }
  HOSTS.forEach(start)
  keepWatchdogs(running, cutPower)
  return {
    start,
    cutPower,
    freeze: (host) => machineOf(host).freeze(),
    untilReset: (host) => until(`the watchdog resets ${host}`, async () => !running.has(host)),
    leader: () => waitFor('there is a primary', onlyPrimary),
    untilWhole: () => until('the cluster is whole', isWhole),
  }
}

async function onlyPrimary(): Promise<Host | null> {
  const answers = await Promise.all(
    HOSTS.map(async (host) => ((await ask(host, '/primary'))?.ok ? [host] : [])),
  )
  const [first, ...others] = answers.flat()
  assert.deepEqual(others, [], 'never two')
  return first ?? null
}

async function isWhole(): Promise<boolean> {
  const answers = await Promise.all(HOSTS.map((host) => ask(host, '/cluster')))
  const [answer] = answers
  if (!answer || !answers.every((each) => each?.ok)) return false
  const { members } = (await answer.json()) as { members: { role: string; state: string }[] }
  const runs = members.filter(({ state }) => state === 'running' || state === 'streaming')
  return (
    ['leader', 'replica', 'sync_standby'].join() ===
    runs
      .map(({ role }) => role)
      .toSorted()
      .join()
  )
}

const ask = (host: string, path: string): Promise<Response | null> =>
  fetch(`http://${host}:8008${path}`, { signal: AbortSignal.timeout(2_000) }).catch(() => null)

/** In place of /dev/watchdog, which a test does not have: the machine of a leader whose Patroni stands still is reset. */
function keepWatchdogs(running: Running, reset: (host: Host) => Promise<void>): void {
  let isOver = false
  after(() => {
    isOver = true
  })
  const watch = async (host: Host) => {
    for (; !isOver; await pause(500)) {
      const machine = running.get(host)
      const answer = machine && (await ask(host, '/primary'))
      if (!machine || running.get(host) !== machine) continue
      if (answer) machine.leadsUntilMs = answer.ok ? performance.now() + WATCHDOG_MS : null
      else if (machine.leadsUntilMs !== null && performance.now() > machine.leadsUntilMs) await reset(host)
    }
  }
  for (const host of HOSTS) void watch(host)
}

/** @returns The command that starts the machine. */
async function writeMachine(
  folder: string,
  host: Host,
  { uid, gid }: { uid: number; gid: number },
): Promise<string> {
  const disk = join(folder, host)
  await mkdir(disk)
  const own = (await readFile(FILE, 'utf8'))
    .replaceAll('name: db1', `name: ${host}`)
    .replaceAll('10.0.0.21:8008', `${host}:8008`)
    .replaceAll('10.0.0.21:5432', `${host}:5432`)
    .replaceAll('10.0.0.0/24', '127.0.0.0/8')
    .replaceAll(/10\.0\.0\.2(\d)/g, '127.0.77.2$1')
    .replace('/var/lib/postgresql/15/beck', join(disk, 'data'))
    .replace('mode: required', "mode: 'off'")
    // Beside the file of the guide: no socket outside of this machine's own disk, and little memory for three on one.
    .replace(
      '  authentication:',
      `  pgpass: ${disk}/pgpass\n  parameters:\n    unix_socket_directories: ${disk}\n    shared_buffers: 64MB\n  authentication:`,
    )
  await writeFile(join(disk, 'patroni.yml'), own, { mode: 0o600 })
  for (const path of [disk, join(disk, 'patroni.yml')]) await chown(path, uid, gid)
  await chmod(disk, 0o700)
  const peers = HOSTS.map((each) => `${each}=http://${each}:2380`).join(',')
  const etcd = [
    'etcd',
    `--name ${host} --data-dir ${disk}/etcd`,
    `--listen-client-urls http://${host}:2379 --advertise-client-urls http://${host}:2379`,
    `--listen-peer-urls http://${host}:2380 --initial-advertise-peer-urls http://${host}:2380`,
    `--initial-cluster ${peers} --heartbeat-interval 200 --election-timeout 2000 --logger zap --log-outputs ${disk}/etcd.log`,
  ].join(' ')
  return `(until ${etcd}; do sleep 1; done) >>${disk}/etcd.out 2>&1 & exec patroni ${disk}/patroni.yml >>${disk}/patroni.log 2>&1`
}
