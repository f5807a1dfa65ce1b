/** HAProxy and PgBouncer from the files of the guide: the road from Beck to whichever machine is the primary. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { until } from '../wait-for.ts'

const FILES = new URL('../../deploy/high-availability/', import.meta.url)
export const USER_PASSWORD = 'secret'

const children = new Set<ChildProcess>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

export interface Road {
  /** To the primary, past the pooler. */
  readonly directPort: number
  readonly poolerPort: number
  /** `kill -9`; whoever looks after it starts it again. */
  killPooler(): Promise<void>
}

export async function openRoad(folder: string): Promise<Road> {
  const [directPort, poolerPort] = [await freePort(), await freePort()]
  await writeFrom('haproxy.cfg', folder, [
    [/127\.0\.0\.1:5000/, `127.0.0.1:${directPort}`],
    [/10\.0\.0\.2(?=\d:5432)/g, '127.0.77.2'],
  ])
  await writeFrom('pgbouncer.ini', folder, [
    [/port=5000/, `port=${directPort}`],
    [/listen_port = 6432/, `listen_port = ${poolerPort}`],
    [/\/etc\/pgbouncer\/userlist\.txt/, join(folder, 'userlist.txt')],
  ])
  await writeFile(join(folder, 'userlist.txt'), `"beck" "${USER_PASSWORD}"\n`)
  await chmod(join(folder, 'userlist.txt'), 0o644)

  start('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')])
  const startPooler = () => start('pgbouncer', ['--user', 'postgres', join(folder, 'pgbouncer.ini')])
  let pooler = startPooler()
  await until('the pooler listens', () => listens(poolerPort))
  return {
    directPort,
    poolerPort,
    async killPooler() {
      pooler.kill('SIGKILL')
      await once(pooler, 'exit')
      pooler = startPooler()
    },
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, {
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: 'ignore',
  })
  children.add(child)
  return child
}

/** The guide's file, with the addresses of this test in it. */
async function writeFrom(
  name: string,
  folder: string,
  changes: readonly (readonly [from: RegExp, to: string])[],
): Promise<void> {
  let text = await readFile(new URL(name, FILES), 'utf8')
  for (const [from, to] of changes) {
    assert.match(text, from)
    text = text.replace(from, to)
  }
  await writeFile(join(folder, name), text, { mode: 0o644 })
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const answer = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return answer
}
