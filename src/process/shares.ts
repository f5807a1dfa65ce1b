/** What the processes of Beck run. */

export const ROLES = ['all', 'api', 'worker', 'watcher', 'signer'] as const
export type Role = (typeof ROLES)[number]
/** `background` is what `all` starts as a process of its own. */
export type Share = Role | 'background'

/** What the process of each share runs itself. */
export const RUNS: Readonly<Record<Share, readonly Role[]>> = {
  all: ['api', 'signer'],
  background: ['worker', 'watcher'],
  api: ['api'],
  worker: ['worker'],
  watcher: ['watcher'],
  signer: ['signer'],
}
