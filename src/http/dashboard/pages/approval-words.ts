/** What a request says, in the page's own words: what people read before they touch their passkey. */
import type { ApprovalPolicy } from '../../../approvals/approval-policy.ts'
import { isKey } from '../../../approvals/asker.ts'
import { type PayoutTerms, type Statement, statementText } from '../../../approvals/statement.ts'
import { ASSETS, type Asset } from '../../../core/assets.ts'
import type { AskerNames } from '../../../flows/approvals/askers.sql.ts'
import { networkOfStatement } from '../../../flows/approvals/request-words.ts'
import { type Html, html, type Part } from '../../hosted/html.ts'
import { coinsColumn, copyable, facts, table } from '../parts.ts'
import { coinNetwork, coins, count, networkName, plural } from '../words.ts'

/** The heading: money in figures, everything else in words. */
export function headlineOf(statement: Statement): Part {
  switch (statement.act) {
    case 'withdrawal':
      return html`${statement.terms.kind === 'refund' ? 'Refund' : 'Pay'} ${coins(statement.terms.netAtoms, statement.terms.asset)}`
    case 'batch':
      return html`${plural(statement.lines.length, 'payout')} of ${sumsOf(statement.lines, 'netAtoms').join(' and ')}`
    case 'policy':
      return 'Change the policy'
    case 'allow':
      return html`Allow ${statement.name}`
    case 'disallow':
      return html`Take ${statement.name} off the allowlist`
  }
}

/** What each of them is, for a list. */
export const KIND_WORDS: Readonly<Record<Statement['act'], string>> = {
  withdrawal: 'Payout',
  batch: 'Bulk payout',
  policy: 'Policy',
  allow: 'Allowlist',
  disallow: 'Allowlist',
}

function sumsOf(lines: readonly PayoutTerms[], of: 'netAtoms' | 'amountAtoms'): string[] {
  return ASSETS.flatMap((asset) => {
    const ofAsset = lines.filter((line) => line.asset === asset)
    return ofAsset.length > 0
      ? [
          coins(
            ofAsset.reduce((sum, line) => sum + line[of], 0n),
            asset,
          ),
        ]
      : []
  })
}

const LINES_SHOWN = 1_000

/** Everything that the statement says. */
export function statementBody(statement: Statement, inForce: ApprovalPolicy | null): Part {
  switch (statement.act) {
    case 'withdrawal': {
      const { terms } = statement
      return facts([
        ['To', html`<span class="exact">${copyable(terms.destination, 'Copy the address')}</span>`],
        ['Network', networkWords(statement)],
        ['Arrives', html`<strong>${coins(terms.netAtoms, terms.asset)}</strong>`],
        ['Taken from the balance', coins(terms.amountAtoms, terms.asset)],
      ])
    }
    case 'batch':
      return html`${facts([
        ['Network', networkWords(statement)],
        ['Arrives', html`<strong>${sumsOf(statement.lines, 'netAtoms').join(' and ')}</strong>`],
        ['Taken from the balance', sumsOf(statement.lines, 'amountAtoms').join(' and ')],
      ])}${table<PayoutTerms>(
        'Payouts',
        [
          { label: 'To', cell: (line) => copyable(line.destination, 'Copy the address') },
          coinsColumn('Arrives', (line) => line.netAtoms),
          coinsColumn('Taken', (line) => line.amountAtoms, { isMinor: true }),
        ],
        statement.lines.slice(0, LINES_SHOWN),
      )}`
    case 'policy':
      return policyTable(statement.policy, inForce)
    case 'allow':
    case 'disallow':
      return facts([
        ['Address', html`<span class="exact">${copyable(statement.address, 'Copy the address')}</span>`],
        ['Network', networkName(statement.network)],
        ['Name', statement.name],
        [
          'Then',
          statement.act === 'allow'
            ? 'Payouts may go there once the delay of the policy is over.'
            : 'Payouts there are refused from then on, where the policy wants the list.',
        ],
      ])
  }
}

/** The coin's network as people call it, and the chain exactly as the statement names it. */
const networkWords = (statement: Extract<Statement, { act: 'withdrawal' | 'batch' }>): Part =>
  html`${statement.act === 'withdrawal' ? coinNetwork(statement.terms.asset) : networkName(networkOfStatement(statement))} <span class="hint">${statement.network}</span>`

const ruleWords = (policy: ApprovalPolicy | null, asset: Asset): string => {
  const rule = policy?.coins[asset]
  if (!rule) return 'leaves without approval'
  return `${rule.fromAtoms === 0n ? 'every payout' : `from ${coins(rule.fromAtoms, asset)}`}: ${plural(rule.approvals, 'approval')}`
}

const keysWords = (policy: ApprovalPolicy | null): string =>
  policy?.bindsKeys ? 'need approvals too' : 'pay out without approval'

/** The delay too where nothing asks for the list: it guards the list from the day on which something does. */
export function listWords(policy: ApprovalPolicy | null): string {
  if (!policy) return 'payouts to any address'
  const delay = `${plural(policy.allowlist.delayHours, 'hour')} after each was approved`
  return policy.allowlist.isRequired
    ? `payouts only to listed addresses, ${delay}`
    : `payouts to any address; those on the list are ready ${delay}`
}

/** The new beside the old, and what differs in bold. */
export function policyTable(policy: ApprovalPolicy, before: ApprovalPolicy | null, isAlone = false): Part {
  const rows = [
    ...ASSETS.map((asset) => [asset, ruleWords(before, asset), ruleWords(policy, asset)] as const),
    ['API keys', keysWords(before), keysWords(policy)] as const,
    ['Addresses', listWords(before), listWords(policy)] as const,
  ]
  return table(
    'Policy',
    [
      { label: '', cell: ([name]) => html`<strong>${name}</strong>` },
      ...(isAlone ? [] : [{ label: 'Today', cell: ([, old]: (typeof rows)[number]) => old }]),
      {
        label: isAlone ? 'Rule' : 'Then',
        cell: ([, old, then]) => (isAlone || old === then ? then : html`<strong>${then}</strong>`),
      },
    ],
    rows,
  )
}

/** The very bytes that are signed, and their hash: for whoever compares them with another device, or with the log. */
export const exactText = (statement: Statement, sha256: string): Html =>
  html`<details><summary>The exact text that the passkey signs</summary><pre>${statementText(statement)}</pre><p class="hint">Its SHA-256 is the challenge: <code>${sha256}</code></p></details>`

/** Why the signer counts an approval for nothing. */
const VERDICT_WORDS: Readonly<Record<string, string>> = {
  not_an_approver: 'the passkey is not pinned at the signer',
  another_person: 'the passkey is pinned for somebody else',
  not_counting_yet: 'the passkey was pinned too short a time ago',
  asked_by_himself: 'nobody approves what he asked for himself',
  asked_by_his_key: 'nobody approves what a key asked for that he made',
  expired: 'it came too late',
  request_over: 'it came after the request was over',
  other_challenge: 'something else was signed than the request says',
}

/** @param verdict - Null or `counts`: not turned down, and still it does not count. */
export const discountWords = (verdict: string | null): string =>
  verdict === null || verdict === 'counts'
    ? 'its passkey is not pinned any more, or does not count now'
    : `the signer turned it down: ${VERDICT_WORDS[verdict] ?? verdict}`

/** Who asked, as people call him. */
export function askerWords(askedBy: string, names: AskerNames | null): Part {
  const name = names ? html`<strong>${names.name}</strong>` : html`<code>${askedBy}</code>`
  return isKey(askedBy)
    ? html`the API key ${name}${names?.keyMadeBy && html`, made by ${names.keyMadeBy}`}`
    : name
}

export const progressWords = (given: number, needed: number): string =>
  `${count(given)} of ${plural(needed, 'approval')}`
