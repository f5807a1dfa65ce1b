/**
 * A cluster's Unix socket, by which Beck asks it: docs/internals/performance.md says what that saves. It is in the cluster's own folder,
 * which nobody but its owner and root can enter.
 */
import { readdir, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'

/** Of a socket's path: Linux has room for 107, and macOS for 103. */
const PATH_BYTES_MAX = 103
const LONGEST_PORT = 65_535

const socketPath = (pgData: string, port: number): string => join(pgData, `.s.PGSQL.${port}`)

/** PostgreSQL's setting; without a socket where its path would be too long. */
export const socketSetting = (pgData: string): string =>
  Buffer.byteLength(socketPath(pgData, LONGEST_PORT)) <= PATH_BYTES_MAX
    ? `unix_socket_directories="${pgData.replaceAll('"', '""')}"`
    : NO_SOCKET

export const NO_SOCKET = 'unix_socket_directories='

/** The part of a connection string that leads to the cluster's socket; empty where nobody answers there. */
export async function socketQuery(pgData: string, port: number): Promise<string> {
  return (await answers(socketPath(pgData, port))) ? `?host=${encodeURIComponent(pgData)}` : ''
}

/**
 * Removes what a server that was killed left of its socket. Another process may have the number that stands in the socket's lock, and
 * PostgreSQL would refuse to start for its sake. Only called while no server runs on the cluster.
 */
export async function removeSockets(pgData: string): Promise<void> {
  // What cannot be removed PostgreSQL says.
  for (const name of await readdir(pgData))
    if (/^\.s\.PGSQL\.\d+(\.lock)?$/.test(name)) await unlink(join(pgData, name)).catch(() => {})
}

/** @param at - A port of loopback, or a socket's path. */
export function answers(at: number | string): Promise<boolean> {
  return new Promise((done) => {
    const socket = typeof at === 'number' ? connect(at, '127.0.0.1') : connect(at)
    const end = (answer: boolean) => {
      socket.destroy()
      done(answer)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
