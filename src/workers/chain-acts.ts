/** Gives acts their place in the audit log's chain. */
import { chainActs } from '../audit/audit-log.sql.ts'
import { SECOND_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Loop, startLoop } from './loop.ts'

/** Far fewer than a turn could take in a second. */
const ACTS_PER_TURN = 500

export const startActChainer = ({ db, secrets, log }: Pick<Gateway, 'db' | 'secrets' | 'log'>): Loop =>
  startLoop({
    name: 'audit',
    idleMs: SECOND_MS,
    log,
    async turn() {
      const { head, added } = await chainActs(db, secrets, ACTS_PER_TURN)
      // Logs are kept elsewhere: there the end of the chain can be looked up should it be cut off here.
      if (head)
        log.info({ head: `${head.place}:${head.mac.toString('hex')}`, added }, 'the audit log goes on')
      return added === ACTS_PER_TURN
    },
  })
