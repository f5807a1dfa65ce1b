/** `beck alive`: whether roles run, for probes of containers and service managers. Ends with 1 when one does not. */
import { hostname } from 'node:os'
import { invalid, OutsideFailure } from '../core/errors.ts'
import { ALIVE_MS, listRoles, RUNNING_ROLES, type RunningRole, rolesOf } from '../db/running-roles.ts'
import type { Terminal } from './terminal.ts'
import { withStore } from './tool.ts'

/** @param given - A role that some machine has to play; whatever this machine plays, at least one, when left out. */
export async function tellAlive(terminal: Terminal, given: { role?: string }): Promise<void> {
  const role = RUNNING_ROLES.find((known) => known === given.role)
  if (given.role !== undefined && !role)
    throw invalid('unknown_role', `a role is one of ${RUNNING_ROLES.join(', ')}, got "${given.role}"`)
  const running = await withStore(
    async ({ db }): Promise<RunningRole[]> => {
      if (!role) return rolesOf(db, hostname())
      const state = (await listRoles(db)).find((each) => each.role === role)
      return state && state.running > 0 ? [role] : []
    },
    { migrated: false },
  )
  if (running.length === 0)
    throw new OutsideFailure(
      role
        ? `no ${role} said within ${ALIVE_MS / 1_000} s that it runs`
        : `nothing on ${hostname()} said within ${ALIVE_MS / 1_000} s that it runs`,
      { retryable: true },
    )
  terminal.answer({ running }, [`${running.join(', ')} ${running.length === 1 ? 'runs' : 'run'}`])
}
