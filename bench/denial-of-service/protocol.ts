/** What the benchmark and its two programs tell each other. */

export type Attack =
  | 'connections'
  | 'slow-bodies'
  | 'big-bodies'
  | 'pipelined'
  | 'nonsense'
  | 'wrong-keys'
  | 'pages'
  | 'forms'
  | 'sign-in'
  | 'streams'
  | 'key-at-limit'
  | 'silent-farm'

/** What an attack did of what it was there to do. */
export interface Effort {
  readonly text: string
  /** Of the bytes that its line let through, those that it sent; null for one with a key, which is bound by requests. */
  readonly sentShare: number | null
  /** Of the connections that it began, those that were made; null without any of its own. */
  readonly connectedShare: number | null
  /** Connections and answers. */
  readonly made: number
}

export interface Target {
  readonly port: number
}

export interface TenantsTarget extends Target {
  /** API keys, one a tenant. */
  readonly tenants: readonly string[]
  /** Where their webhooks go. */
  readonly receiver: number
}

export interface Figures {
  /** Of the seconds that it took, those in which the machine had its processors: what began or ended in others is not counted. */
  readonly givenSeconds: number
  readonly allSeconds: number
  readonly requests: number
  readonly apiP50Ms: number
  readonly apiP99Ms: number
  /** From the request that made a payment to the arrival of its first webhook. */
  readonly webhookP99Ms: number
  /** The first few answers that were not as they should be. */
  readonly problems: readonly string[]
}
