/** A way to PostgreSQL that breaks as a network does: it is gone for who asked, and PostgreSQL goes on with what it was asked. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after } from 'node:test'
import { type Database, openDatabase } from '../src/db/database.ts'

export interface SeveredDatabase extends Database {
  /** Ends every connection on this side of the way alone. @param isForGood - And lets no new one through. */
  sever(isForGood: boolean): void
}

/** Ends with the test file. Start it at the top level of the file. */
export async function severedDatabase(url: string): Promise<SeveredDatabase> {
  const { hostname, port } = new URL(url)
  const near = new Set<Socket>()
  const far = new Set<Socket>()
  let isGone = false
  const way = createServer((socket) => {
    socket.on('error', () => {})
    if (isGone) return void socket.destroy()
    const onward = connect(Number(port), hostname)
    onward.on('error', () => {})
    near.add(socket)
    far.add(onward)
    onward.on('data', (bytes) => socket.destroyed || socket.write(bytes))
    socket.on('data', (bytes) => onward.write(bytes))
    onward.on('close', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(way, 'listening')
  const through = new URL(url)
  through.host = `127.0.0.1:${(way.address() as AddressInfo).port}`
  const db = openDatabase({ url: through.href, connectionsMax: 20 })
  after(async () => {
    await db.close()
    for (const socket of [...near, ...far]) socket.destroy()
    way.close()
  })
  return {
    ...db,
    sever(isForGood) {
      isGone = isForGood
      for (const socket of near) socket.destroy()
      near.clear()
    },
  }
}
