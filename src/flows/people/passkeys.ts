/**
 * Passkeys (WebAuthn): made and asked for under the dashboard's own origin, always with the person verified by his device.
 * The library is read when the first one is used.
 */
import { randomBytes } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { unauthenticated } from '../../core/errors.ts'
import type { UserId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import {
  findPasskey,
  insertPasskey,
  listPasskeys,
  markPasskeyUsed,
  type Passkey,
} from '../../users/factors.sql.ts'
import { SIGN_IN_CHALLENGE_BYTES } from '../../users/sign-in-challenge.sql.ts'
import type { Gateway } from '../gateway.ts'

const load = () => import('@simplewebauthn/server')

/** EdDSA, ES256, RS256: others make Node warn. */
const ALGORITHMS = [-8, -7, -257]

type Settings = Pick<Gateway, 'settings'>

const originOf = ({ settings }: Settings): URL => new URL(settings.dashboardUrl)

/** Passkeys belong to names: an origin that is an IP address can have none. */
export const canHavePasskeys = (gateway: Settings): boolean => {
  const { hostname, protocol } = originOf(gateway)
  return (protocol === 'https:' || hostname === 'localhost') && !/^[\d.]+$|^\[/.test(hostname)
}

/** Of a session, and of the door. */
const CHALLENGE_BYTES = [32, SIGN_IN_CHALLENGE_BYTES]

export const newChallenge = (): Buffer => randomBytes(32)

/** Options for `navigator.credentials.create`, as JSON. */
export async function passkeyCreation(
  gateway: Settings & Pick<Gateway, 'db'>,
  person: { readonly userId: UserId | null; readonly email: string; readonly name: string },
  challenge: Uint8Array,
) {
  const { generateRegistrationOptions } = await load()
  const known = person.userId ? await listPasskeys(gateway.db, person.userId) : []
  return generateRegistrationOptions({
    rpName: 'Beck',
    rpID: originOf(gateway).hostname,
    userName: person.email,
    userDisplayName: person.name || person.email,
    challenge: new Uint8Array(challenge),
    attestationType: 'none',
    excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId.toString('base64url') })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
}

/** Options for `navigator.credentials.get`, as JSON. @param userId - Null before anybody is known. */
export async function passkeyRequest(
  gateway: Settings & Pick<Gateway, 'db'>,
  userId: UserId | null,
  challenge: Uint8Array,
) {
  const { generateAuthenticationOptions } = await load()
  const known = userId ? await listPasskeys(gateway.db, userId) : []
  return generateAuthenticationOptions({
    rpID: originOf(gateway).hostname,
    challenge: new Uint8Array(challenge),
    userVerification: 'required',
    allowCredentials: known.map(({ credentialId }) => ({ id: credentialId.toString('base64url') })),
  })
}

/** The challenge that a browser's answer carries; null when it is no answer. */
export function challengeOf(response: string): Buffer | null {
  const clientData = (parse(response) as { response?: { clientDataJSON?: unknown } } | null)?.response
    ?.clientDataJSON
  if (typeof clientData !== 'string') return null
  const { challenge } = (parse(Buffer.from(clientData, 'base64url').toString()) ?? {}) as {
    challenge?: unknown
  }
  const bytes = typeof challenge === 'string' ? Buffer.from(challenge, 'base64url') : null
  return bytes && CHALLENGE_BYTES.includes(bytes.length) ? bytes : null
}

/** What every answer of a browser is held against. */
const expected = (gateway: Settings, challenge: Uint8Array) => ({
  expectedChallenge: Buffer.from(challenge).toString('base64url'),
  expectedOrigin: originOf(gateway).origin,
  expectedRPID: originOf(gateway).hostname,
  requireUserVerification: true,
})

/**
 * Keeps a new passkey. The caller has used the challenge up.
 *
 * @throws {Refusal} `passkey_refused`.
 */
export async function keepPasskey(
  gateway: Settings,
  tx: Tx,
  userId: UserId,
  given: { readonly response: string; readonly challenge: Uint8Array; readonly name: string },
): Promise<void> {
  const { verifyRegistrationResponse } = await load()
  const response = parse(given.response) as RegistrationResponseJSON | null
  const verified = response
    ? await verifyRegistrationResponse({
        ...expected(gateway, given.challenge),
        response,
        supportedAlgorithmIDs: ALGORITHMS,
      }).catch(() => null)
    : null
  if (!verified?.verified) throw refused('this passkey could not be verified; try again')
  const { credential } = verified.registrationInfo
  const isNew = await insertPasskey(tx, {
    userId,
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    counter: BigInt(credential.counter),
    transports: [...(credential.transports ?? [])],
    name: given.name.trim().slice(0, 120) || 'Passkey',
  })
  if (!isNew) throw refused('this passkey is kept already')
}

/**
 * Checks what a browser answered. The caller has used the challenge up.
 *
 * @returns Whose passkey it is.
 * @throws {Refusal} `passkey_refused`.
 */
export async function verifyPasskey(
  gateway: Settings,
  tx: Tx,
  given: { readonly response: string; readonly challenge: Uint8Array },
): Promise<Passkey> {
  const response = parse(given.response) as AuthenticationResponseJSON | null
  const passkey =
    typeof response?.id === 'string' ? await findPasskey(tx, Buffer.from(response.id, 'base64url')) : null
  if (!response || !passkey) throw refused('this passkey is not known here; sign in another way and add it')
  const { verifyAuthenticationResponse } = await load()
  const verified = await verifyAuthenticationResponse({
    ...expected(gateway, given.challenge),
    response,
    credential: {
      id: passkey.credentialId.toString('base64url'),
      publicKey: new Uint8Array(passkey.publicKey),
      counter: Number(passkey.counter),
    },
  }).catch(() => null)
  const isGood =
    verified?.verified && (await markPasskeyUsed(tx, passkey, verified.authenticationInfo.newCounter))
  if (!isGood) throw refused('this passkey could not be verified; try again')
  return passkey
}

const refused = (message: string) => unauthenticated('passkey_refused', message)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
