/**
 * What an approval says: a text of its own for each act, whose SHA-256 is the challenge that the passkey signs. The server
 * makes it for the page, the signer makes it again from what it is about to do: what differs in one character was not approved.
 *
 * The format is fixed by its version; test vectors stand in docs/internals/approvals.md.
 */
import { createHash } from 'node:crypto'
import { ASSETS, type Asset, type Network } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import type { ApprovalPolicy } from './approval-policy.ts'
import type { AllowlistAct } from './approval-request.ts'
import type { AskedBy } from './asker.ts'

interface Common {
  /** `acct_…` */
  readonly account: string
  /** `apr_…`: no approval passes for another request. */
  readonly request: string
  readonly askedBy: AskedBy
  readonly validUntil: Date
}

export interface PayoutTerms {
  /** `wd_…` */
  readonly withdrawal: string
  readonly kind: 'payout' | 'refund'
  readonly asset: Asset
  /** Gross: debited from the merchant. */
  readonly amountAtoms: bigint
  /** What the destination receives. */
  readonly netAtoms: bigint
  readonly destination: string
}

export interface WithdrawalStatement extends Common {
  readonly act: 'withdrawal'
  /** Which chain exactly: `litecoin mainnet`, `ethereum 1`, `sim-bitcoin simulated`. */
  readonly network: string
  readonly terms: PayoutTerms
}

export interface BatchStatement extends Common {
  readonly act: 'batch'
  readonly network: string
  /** `bat_…` */
  readonly batch: string
  readonly lines: readonly PayoutTerms[]
}

export interface PolicyStatement extends Common {
  readonly act: 'policy'
  /** How many policies this account had before: an old approval brings no old policy back. */
  readonly follows: number
  readonly policy: ApprovalPolicy
}

export interface AllowlistStatement extends Common {
  readonly act: AllowlistAct
  readonly network: Network
  readonly address: string
  readonly name: string
}

export type Statement = WithdrawalStatement | BatchStatement | PolicyStatement | AllowlistStatement

const ACTS: Readonly<Record<Statement['act'], string>> = {
  withdrawal: 'pay out one withdrawal',
  batch: 'pay out a batch of withdrawals',
  policy: 'change the policy of approvals',
  allow: 'allow payouts to an address',
  disallow: 'no longer allow payouts to an address',
}

/**
 * One `name: value` a line, in this order, each ended by a line feed. Names that people gave are JSON strings.
 *
 * @throws {InvariantBroken} when a value would be more than one line: texts of two statements are never the same.
 */
export const statementText = (statement: Statement): string =>
  [
    ['Beck approval', 'version 1'],
    ['act', ACTS[statement.act]],
    ['account', statement.account],
    ['request', statement.request],
    ...bodyOf(statement),
    ['asked by', statement.askedBy],
    ['valid until', statement.validUntil.toISOString()],
  ]
    .map(([name, value]) => {
      invariant(!/[\r\n]/.test(value), `a statement's ${name} is one line`)
      return `${name}: ${value}\n`
    })
    .join('')

/** What the passkey is asked to sign: 32 bytes. */
export const challengeOf = (statement: Statement): Buffer => sha256(statementText(statement))

/** Identifies the terms of one withdrawal: a row that was changed after its approval is another withdrawal. */
export const digestOfTerms = (terms: PayoutTerms): string => sha256(lineOf(terms)).toString('hex')

type Field = readonly [name: string, value: string]

function bodyOf(statement: Statement): Field[] {
  switch (statement.act) {
    case 'withdrawal': {
      const { terms } = statement
      return [
        ['network', statement.network],
        ['withdrawal', terms.withdrawal],
        ['kind', terms.kind],
        ['coin', terms.asset],
        ['debited atoms', String(terms.amountAtoms)],
        ['paid atoms', String(terms.netAtoms)],
        ['destination', terms.destination],
      ]
    }
    case 'batch':
      return batchFields(statement)
    case 'policy':
      return [['follows', String(statement.follows)], ...policyFields(statement.policy)]
    case 'allow':
    case 'disallow':
      return [
        ['network', statement.network],
        ['address', statement.address],
        ['name', JSON.stringify(statement.name)],
      ]
  }
}

function batchFields({ network, batch, lines }: BatchStatement): Field[] {
  const sorted = [...lines].sort((a, b) => (a.withdrawal < b.withdrawal ? -1 : 1))
  const totals = ASSETS.flatMap((asset) => {
    const ofAsset = lines.filter((line) => line.asset === asset)
    const debited = ofAsset.reduce((sum, line) => sum + line.amountAtoms, 0n)
    return ofAsset.length > 0 ? [[`debited atoms of ${asset}`, String(debited)] as const] : []
  })
  return [
    ['network', network],
    ['batch', batch],
    ['withdrawals', String(lines.length)],
    ...totals,
    ['SHA-256 of the lines', sha256(sorted.map(lineOf).join('')).toString('hex')],
  ]
}

function lineOf({ withdrawal, kind, asset, amountAtoms, netAtoms, destination }: PayoutTerms): string {
  invariant(!/\s/.test(destination), 'a destination is one word')
  return `${withdrawal} ${kind} ${asset} ${amountAtoms} ${netAtoms} ${destination}\n`
}

const policyFields = ({ coins, bindsKeys, allowlist }: ApprovalPolicy): Field[] => [
  ...ASSETS.map((asset): Field => {
    const rule = coins[asset]
    return [asset, rule ? `from ${rule.fromAtoms} atoms, approvals ${rule.approvals}` : 'no approvals']
  }),
  ['keys', bindsKeys ? 'bound' : 'not bound'],
  ['allowlist', `${allowlist.isRequired ? 'required' : 'not required'}, ${allowlist.delayHours} hours`],
]

const sha256 = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()
