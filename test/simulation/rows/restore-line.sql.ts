import type * as real from '../../../src/signer/restore-line.sql.ts'

export const restoreLine: typeof real.restoreLine = async () => {
  throw new Error('a simulated database never forgets what was signed')
}
