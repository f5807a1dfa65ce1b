/** How a merchant looks on the hosted pages: checked here, so that nothing else can be set. */
import { createHash } from 'node:crypto'
import { invalidField } from '../core/errors.ts'

const NAME_LENGTH_MAX = 80
const LOGO_BYTES_MAX = 64 * 1_024
const ORIGINS_MAX = 20

/** @throws {Refusal} `invalid`, `invalid_brand_name`. */
export function readBrandName(text: string): string {
  const name = text.trim()
  if (name.length >= 1 && name.length <= NAME_LENGTH_MAX && !/\p{Cc}/u.test(name)) return name
  throw invalidField(
    'brand_name',
    'invalid_brand_name',
    `a brand name has 1 to ${NAME_LENGTH_MAX} characters on one line, got ${name.length}`,
  )
}

/** @throws {Refusal} `invalid`, `invalid_brand_color`. */
export function readBrandColor(text: string): string {
  const colour = text.trim().toLowerCase()
  if (/^#[0-9a-f]{6}$/.test(colour)) return colour
  throw invalidField(
    'brand_color',
    'invalid_brand_color',
    `a colour is written #rrggbb, such as #2c52d0; got "${text.slice(0, 40)}"`,
  )
}

/**
 * Sites that may frame the checkout. Only https, and http on this machine for development: whoever frames a page
 * could put another one in its place.
 *
 * @throws {Refusal} `invalid`, `invalid_frame_origin`.
 */
export function readFrameOrigins(texts: readonly string[]): string[] {
  const origins = texts.map((text) => {
    const origin = text.trim().toLowerCase().replace(/\/$/, '')
    if (isOrigin(origin)) return origin
    throw invalidField(
      'frame_origins',
      'invalid_frame_origin',
      `an origin is written https://shop.example, without a path or a wildcard; got "${text.slice(0, 200)}"`,
    )
  })
  if (origins.length <= ORIGINS_MAX) return [...new Set(origins)]
  throw invalidField(
    'frame_origins',
    'too_many_frame_origins',
    `at most ${ORIGINS_MAX} sites may frame the checkout, got ${origins.length}`,
  )
}

/** Exactly one origin, and nothing that a Content-Security-Policy would read as more: URLs allow `;` in names of hosts. */
export function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return (
    url?.origin === text &&
    /^([a-z0-9.-]+|\[[0-9a-f:]+\])$/.test(url.hostname) &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal(url.hostname)))
  )
}

const isLocal = (host: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(host)

export interface Logo {
  /** The hash of the bytes and what they are, so that a browser may keep it for ever. */
  readonly name: string
  readonly bytes: Uint8Array
}

/** Pictures that hold no script, by how their files begin. */
const KINDS = [
  {
    extension: 'png',
    isOne: (bytes: Buffer) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  },
  { extension: 'jpg', isOne: (bytes: Buffer) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')) },
  {
    extension: 'webp',
    isOne: (bytes: Buffer) =>
      bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
  },
]

/** @throws {Refusal} `invalid`, `invalid_logo`. */
export function readLogo(given: Uint8Array): Logo {
  const bytes = Buffer.from(given)
  const kind = KINDS.find(({ isOne }) => isOne(bytes))
  if (kind && bytes.length <= LOGO_BYTES_MAX) {
    return { name: `${createHash('sha256').update(bytes).digest('hex')}.${kind.extension}`, bytes }
  }
  throw invalidField(
    'logo',
    'invalid_logo',
    `a logo is a PNG, JPEG or WebP picture of at most ${LOGO_BYTES_MAX / 1_024} KiB, got ${bytes.length} bytes`,
  )
}
