/** What a request asks for, as a sentence without markup: for mails and lists. */
import type { Statement } from '../../approvals/statement.ts'
import { ASSETS, networkOf } from '../../core/assets.ts'
import { formatCoins } from '../../core/money.ts'

export function requestWords(statement: Statement): string {
  switch (statement.act) {
    case 'withdrawal': {
      const { asset, netAtoms, destination, kind } = statement.terms
      return `${kind === 'refund' ? 'Refund' : 'Pay'} ${formatCoins(netAtoms, asset)} to ${destination}`
    }
    case 'batch': {
      const sums = ASSETS.flatMap((asset) => {
        const atoms = statement.lines
          .filter((line) => line.asset === asset)
          .reduce((sum, line) => sum + line.netAtoms, 0n)
        return atoms > 0n ? [formatCoins(atoms, asset)] : []
      })
      return `Pay ${sums.join(' and ')} in ${statement.lines.length} payouts`
    }
    case 'policy':
      return 'Change the policy of approvals'
    case 'allow':
      return `Allow payouts to ${statement.name}, ${statement.address} on ${statement.network}`
    case 'disallow':
      return `No longer allow payouts to ${statement.name}, ${statement.address} on ${statement.network}`
  }
}

/** The coins of a payout share one network. */
export const networkOfStatement = (statement: Extract<Statement, { act: 'withdrawal' | 'batch' }>) =>
  networkOf(statement.act === 'batch' ? (statement.lines[0]?.asset ?? 'BTC') : statement.terms.asset)
