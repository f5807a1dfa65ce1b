/** The picture of a page that was put on a phone's home screen: a tick, white on the accent, up to its edges. */
import { crc32, deflateSync } from 'node:zlib'
import { onFirstUse } from '../../core/on-first-use.ts'

const SIZE = 192
const GROUND = [0x2c, 0x52, 0xd0] as const
/** Corners of the tick, and the width of its stroke, in pixels. */
const TICK = [
  [54, 99],
  [84, 129],
  [138, 69],
] as const
const STROKE = 21

export const HOME_ICON_PATH = '/checkout-assets/home-icon.png'
export const HOME_ICON_SIZES = `${SIZE}x${SIZE}`

/** PNG, for not every phone takes a drawing. */
export const homeIcon = onFirstUse(() => {
  const rowBytes = 1 + SIZE * 3
  const pixels = Buffer.alloc(SIZE * rowBytes)
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      // How much of the pixel lies on the stroke: its edge is half a pixel wide on either side.
      const share = Math.min(1, Math.max(0, STROKE / 2 - distanceToTick(x + 0.5, y + 0.5) + 0.5))
      for (const [i, ground] of GROUND.entries())
        pixels[y * rowBytes + 1 + x * 3 + i] = Math.round(ground + (255 - ground) * share)
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(SIZE, 0)
  header.writeUInt32BE(SIZE, 4)
  // Eight bits of red, green and blue.
  header.set([8, 2], 8)
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  const data = deflateSync(pixels, { level: 9 })
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
})

/** @see https://www.w3.org/TR/png-3/#5Chunk-layout */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

function distanceToTick(x: number, y: number): number {
  const [from, corner, to] = TICK
  return Math.min(distance(x, y, from, corner), distance(x, y, corner, to))
}

type Point = readonly [x: number, y: number]

/** From a point to a line between two others. */
function distance(x: number, y: number, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay]
  const along = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)))
  return Math.hypot(x - ax - along * dx, y - ay - along * dy)
}
