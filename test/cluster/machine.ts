/**
 * Machines that can lose their power and freeze: each is a process namespace of its own, whose end ends all that runs in it.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readlink } from 'node:fs/promises'
import { after } from 'node:test'
import { until } from '../wait-for.ts'

const machines = new Set<ChildProcess>()
after(() => {
  for (const machine of machines) machine.kill('SIGKILL')
})

export interface Machine {
  /** As if its plug was pulled. */
  cutPower(): Promise<void>
  /** Everything on it stands still, and nothing is closed. */
  freeze(): Promise<void>
}

/** @param command - Of the shell, as the user postgres: what runs there, in the foreground. */
export function startMachine(command: string): Machine {
  const namespace = ['--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL']
  // Numbers of processes begin elsewhere after each start, as on a machine: PostgreSQL looks for the one it left behind.
  const first = `echo $RANDOM > /proc/sys/kernel/ns_last_pid
setpriv --reuid=postgres --regid=postgres --init-groups bash -c "$0"
exit`
  const machine = spawn('unshare', [...namespace, '--', 'bash', '-c', first, command], {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: 'ignore',
  })
  machines.add(machine)
  return {
    async cutPower() {
      const pids = await processesOf(machine)
      machines.delete(machine)
      machine.kill('SIGKILL')
      await until('nothing of it runs', async () => !pids.some((pid) => existsSync(`/proc/${pid}`)))
    },
    async freeze() {
      for (const pid of await processesOf(machine)) process.kill(pid, 'SIGSTOP')
    },
  }
}

async function processesOf(machine: ChildProcess): Promise<number[]> {
  const link = (path: string) => readlink(`/proc/${path}`).catch(() => null)
  const namespace = await link(`${machine.pid}/ns/pid_for_children`)
  assert.ok(namespace !== null && namespace !== (await link('self/ns/pid')), 'the machine runs')
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const namespaces = await Promise.all(pids.map((pid) => link(`${pid}/ns/pid`)))
  return pids.filter((_, index) => namespaces[index] === namespace).map(Number)
}
