/**
 * Single sign-on with the operator's OpenID provider: the authorization code flow with PKCE, state and nonce (OpenID Connect
 * Core 1.0, RFC 7636, RFC 9207). The library is loaded with the first sign-in.
 *
 * Beck asks no address but the issuer that the operator set and what that issuer's own discovery names, and nothing that a
 * visitor says has a part in it.
 */
import { forbidden, OutsideFailure, unauthenticated } from '../core/errors.ts'
import { isThisMachine } from '../core/networks.ts'
import { HOUR_MS } from '../core/time.ts'

export interface SingleSignOnSettings {
  /** As the provider's own documents name it. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Domains of the emails that may come in this way, lower case; empty for all that the provider vouches for. */
  readonly domains: readonly string[]
  /** What the button says. */
  readonly name: string
}

/** What a sign-in on its way has to be matched with. Kept sealed in the browser that began it. */
export interface PendingSignOn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Whether the provider was told to ask for the person again, whoever is signed in there. */
  readonly isAgain: boolean
}

/** Whom the provider vouches for. */
export interface SignOnIdentity {
  readonly issuer: string
  /** The provider's own name of the person; never another one's later. */
  readonly subject: string
  readonly email: string
  /** More than a password was asked for there (RFC 8176). */
  readonly isStrong: boolean
}

export interface SingleSignOn {
  readonly name: string
  begin(
    redirectUri: string,
    again: { readonly isAgain: boolean },
  ): Promise<{ readonly url: string; readonly pending: PendingSignOn }>
  /**
   * @param answer - The URL that the provider sent the browser to.
   * @throws {Refusal} `sign_on_refused`, `email_unverified`, `email_not_allowed`. @throws {OutsideFailure} when the provider
   *   does not answer.
   */
  finish(answer: URL, pending: PendingSignOn): Promise<SignOnIdentity>
}

const LIMIT_SECONDS = 10
/** For being asked again: the provider's clock may be off by so much. */
const FRESH_SECONDS = 60
/** A key, a fingerprint, a face, a code, a card, or the provider's word that there were several (RFC 8176). */
const STRONG_METHODS = ['mfa', 'hwk', 'swk', 'pop', 'otp', 'fpt', 'face', 'iris', 'retina', 'vbm', 'sc']

export function openSingleSignOn(settings: SingleSignOnSettings): SingleSignOn {
  const { issuer, clientId, clientSecret } = settings
  let found: { readonly at: number; readonly provider: ReturnType<typeof discover> } | null = null

  async function discover() {
    const client = await import('openid-client')
    // Plain http for a provider on this very machine; URLs of a network are https, whatever the provider says.
    const isPlain = new URL(issuer).protocol === 'http:'
    const configuration = await client.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: LIMIT_SECONDS,
      ...(isPlain ? { execute: [client.allowInsecureRequests] } : {}),
    })
    return { client, configuration }
  }

  /** Read anew each hour: keys and addresses change. A failure is not kept. */
  async function provider() {
    if (!found || performance.now() - found.at > HOUR_MS) {
      const started = { at: performance.now(), provider: discover() }
      found = started
      started.provider.catch(() => {
        if (found === started) found = null
      })
    }
    return found.provider.catch(unreachable)
  }

  return {
    name: settings.name,
    async begin(redirectUri, { isAgain }) {
      const { client, configuration } = await provider()
      const pending = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        isAgain,
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
        ...(isAgain ? { prompt: 'login', max_age: '0' } : {}),
      })
      return { url: url.href, pending }
    },
    async finish(answer, pending) {
      const { client, configuration } = await provider()
      const tokens = await client
        .authorizationCodeGrant(configuration, answer, {
          expectedState: pending.state,
          expectedNonce: pending.nonce,
          pkceCodeVerifier: pending.verifier,
          idTokenExpected: true,
          ...(pending.isAgain ? { maxAge: FRESH_SECONDS } : {}),
        })
        .catch((error: unknown) => {
          if (isOfTheNetwork(error)) return unreachable(error)
          throw unauthenticated(
            'sign_on_refused',
            'the sign-in at your provider was not completed, or took too long; begin again',
          )
        })
      return identityOf(settings, tokens.claims() ?? {})
    },
  }
}

/** What the ID token says, once its signature, issuer, audience, nonce and times are checked. */
function identityOf(
  settings: SingleSignOnSettings,
  claims: Readonly<Record<string, unknown>>,
): SignOnIdentity {
  const { iss, sub, email, email_verified: isVerified, amr } = claims
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof email !== 'string' || isVerified !== true)
    throw forbidden(
      'email_unverified',
      'your provider does not say that your email is verified; Beck knows people by it',
    )
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (settings.domains.length > 0 && !settings.domains.includes(domain))
    throw forbidden('email_not_allowed', `emails at ${domain.slice(0, 100)} do not come in this way`)
  const methods: readonly unknown[] = Array.isArray(amr) ? amr : []
  return {
    issuer: iss,
    subject: sub,
    email,
    isStrong: methods.some((method) => typeof method === 'string' && STRONG_METHODS.includes(method)),
  }
}

/** Node's fetch says TypeError, a timeout has a name of its own; the library wraps both in an error with its code. */
function isOfTheNetwork(error: unknown): boolean {
  const { name, code } = error as { name?: string; code?: string }
  return (
    name === 'TimeoutError' ||
    code === 'OAUTH_TIMEOUT' ||
    code === 'OAUTH_ABORT' ||
    (name === 'TypeError' && code === undefined)
  )
}

function unreachable(cause: unknown): never {
  throw new OutsideFailure('the OpenID provider does not answer', { cause, retryable: true })
}

/** BECK_OIDC_ISSUER: https, or http to this very machine. @returns Null for another one. */
export function readIssuer(text: string): string | null {
  const url = URL.parse(text)
  if (!url || url.search || url.hash || url.username) return null
  const isHere = url.hostname === 'localhost' || isThisMachine(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere) ? text : null
}
