/** Self-signed certificates for local TLS receivers, made on the spot: no key rests in the repository. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const length =
    body.length < 0x80
      ? Buffer.from([body.length])
      : body.length < 0x100
        ? Buffer.from([0x81, body.length])
        : Buffer.from([0x82, body.length >> 8, body.length & 0xff])
  return Buffer.concat([Buffer.from([tag]), length, body])
}
const hex = (text: string) => Buffer.from(text, 'hex')
const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts)
const time = (at: Date) => der(0x18, Buffer.from(at.toISOString().replace(/[-:T]|\.\d+/g, '')))

const ECDSA_WITH_SHA256 = sequence(hex('06082a8648ce3d040302'))
const COMMON_NAME = hex('0603550403')
const SUBJECT_ALTERNATIVE_NAME = hex('0603551d11')
const BASIC_CONSTRAINTS = hex('0603551d13')

/** An X.509 certificate (RFC 5280) with its key, both as PEM; it is its own authority. */
export function selfSigned(
  names: readonly string[],
  validUntil = new Date(Date.now() + 86_400_000),
): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from('Beck test')))))
  const alternatives = sequence(
    ...names.map((each) =>
      isIPv4(each) ? der(0x87, Buffer.from(each.split('.').map(Number))) : der(0x82, Buffer.from(each)),
    ),
  )
  const extensions = sequence(
    sequence(SUBJECT_ALTERNATIVE_NAME, der(0x04, alternatives)),
    sequence(BASIC_CONSTRAINTS, hex('0101ff'), der(0x04, sequence(hex('0101ff')))),
  )
  const content = sequence(
    hex('a003020102'),
    der(0x02, Buffer.from([1])),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(new Date(validUntil.getTime() - 365 * 86_400_000)), time(validUntil)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const signature = sign('sha256', content, createPrivateKey(key))
  const certificate = sequence(content, ECDSA_WITH_SHA256, der(0x03, hex('00'), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return { key, cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n` }
}
