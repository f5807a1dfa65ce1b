/** What the audit log keeps: who did what to what, from where, and how it was before and after. */
import type { AccountId } from '../core/ids.ts'

export const ACTOR_KINDS = ['key', 'user', 'cli', 'system'] as const

export interface Actor {
  /** An API key, a person, the command line, or Beck itself. */
  readonly kind: (typeof ACTOR_KINDS)[number]
  /** Its public id; on the command line the operating system's name of the user. */
  readonly id: string | null
  /** As people call it: a key's name, a person's address. */
  readonly name: string | null
}

/** JSON without secrets: what an act changed, not the whole row. */
export type Facts = Readonly<Record<string, unknown>>

export interface Act {
  /** Whose books or settings it touches; null where it is none's or more than one's. */
  readonly accountId: AccountId | null
  readonly actor: Actor
  /** An IP address, or the machine that a command ran on. */
  readonly address: string | null
  /** `noun.verb`: `webhook.create`, `key.revoke`. */
  readonly action: string
  /** The public id of what it was done to. */
  readonly subject: string | null
  readonly before: Facts | null
  readonly after: Facts | null
}

/** An act as the log holds it. */
export interface RecordedAct extends Act {
  readonly id: string
  readonly at: Date
  /** Its place in the chain; null for the second until it has one. */
  readonly place: bigint | null
}
