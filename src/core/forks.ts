/** Upgrades of Ethereum that change how much gas our transactions use. */

/** The oldest first: a chain that shows none of them is charged as under the first. */
export const FORKS = ['prague', 'amsterdam'] as const
export type Fork = (typeof FORKS)[number]

/** The oldest, for what nobody knows yet. */
export const readFork = (text: string | null | undefined): Fork =>
  FORKS.find((fork) => fork === text) ?? FORKS[0]
