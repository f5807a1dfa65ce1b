/** A certified OpenID provider on loopback, with somebody signed in already; and what it says can be bent. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { Provider } from 'oidc-provider'

export interface TestIdentity {
  readonly subject: string
  readonly email: string
  readonly isVerified?: boolean
  readonly methods?: readonly string[]
}

export interface TestProvider {
  readonly issuer: string
  /** Who is signed in at it now. */
  identity: TestIdentity
  /** Seconds ago that he last proved himself. */
  provenSecondsAgo: number
  /** Follows a link to the provider as the browser would. @returns Where it sends the browser back to. */
  visit(url: string): Promise<string>
  stop(): Promise<void>
}

export const CLIENT = { id: 'beck', secret: 'a-secret-of-the-provider' }

export async function openTestProvider(redirectUri: string): Promise<TestProvider> {
  const http = createServer()
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['for tests alone'] },
    claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'] },
    // So that the ID token says the email itself.
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: test.identity.email,
        email_verified: test.identity.isVerified ?? true,
      }),
    }),
  })
  const answer = provider.callback()
  http.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response)
    // A person who needs a moment for nothing: whatever is asked for, he proves it and agrees.
    const { prompt, session, params } = await provider.interactionDetails(request, response)
    const { subject, methods = ['pwd'] } = test.identity
    if (prompt.name === 'login') {
      const login = {
        accountId: subject,
        amr: [...methods],
        ts: Math.floor(Date.now() / 1_000) - test.provenSecondsAgo,
      }
      return provider.interactionFinished(request, response, { login })
    }
    const grant = new provider.Grant({
      accountId: session?.accountId ?? subject,
      clientId: String(params.client_id),
    })
    grant.addOIDCScope('openid email')
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  })
  const stop = async () => {
    http.closeAllConnections()
    await new Promise<void>((resolve) => http.close(() => resolve()))
  }
  after(stop)
  const test: TestProvider = {
    issuer,
    identity: { subject: 'sub-1', email: 'ada@example.com' },
    provenSecondsAgo: 0,
    async visit(url) {
      const cookies = new Map<string, string>()
      for (let next = url, hops = 0; hops < 12; hops++) {
        const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
        const seen = await fetch(next, { redirect: 'manual', headers })
        for (const set of seen.headers.getSetCookie()) {
          const [name = '', value = ''] = set.split(';')[0]?.split('=') ?? []
          cookies.set(name, value)
        }
        const location = seen.headers.get('location')
        if (!location) throw new Error(`the provider answered ${seen.status}: ${await seen.text()}`)
        next = new URL(location, next).href
        if (next.startsWith(redirectUri)) return next
      }
      throw new Error('the provider leads in circles')
    },
    stop,
  }
  return test
}
