/** What lies outside: nodes, token contracts, what the watchers saw of the chains, exchanges. */
import type { ChainPort } from '../../chains/chain.ts'
import { readNode } from '../../chains/ethereum/rpc.ts'
import { openRpc } from '../../chains/json-rpc.ts'
import type { Config } from '../../config/config.ts'
import { openPorts } from '../../config/ports.ts'
import type { Store } from '../../config/store.ts'
import { ASSET_FACTS, isSimulated } from '../../core/assets.ts'
import { messageOf, OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { divideDown, formatCoins } from '../../core/money.ts'
import { readHealth } from '../../flows/operation/health.ts'
import { hotWalletOf } from '../../flows/treasury/tend-senders.ts'
import { openMailSender } from '../../mails/send-mail.ts'
import { connectedChains } from '../../main.ts'
import { openLog } from '../../process/log.ts'
import { sandboxRates } from '../../rates/sandbox.ts'
import { allSources } from '../../rates/sources/all.ts'
import { gasPrice } from '../../treasury/fees.ts'
import { scheduleOf } from '../../treasury/gas.ts'
import { type Finding, fine, warning, wrong } from './finding.ts'

const EXCHANGES_MIN = 2
/** Fewer payouts that the hot wallet has gas for are worth a word. */
const PAYOUTS_MIN = 10n
const EXCHANGE_LIMIT_MS = 5_000
const MAIL_LIMIT_MS = 10_000
const ERC20_DECIMALS = '0x313ce567'

export async function chains(config: Config, { db, secrets }: Store): Promise<Finding[]> {
  const ports = openPorts(config, db, openLog('silent')).filter(({ chain }) => !isSimulated(chain))
  const never = { live: sandboxRates(), test: sandboxRates() }
  try {
    const nodes = (await Promise.all(ports.map((port) => node(port)))).flat()
    const { chains: seen, backlog } = await readHealth(
      { db, rates: never, log: SILENT },
      connectedChains(config),
    )
    return [
      ...nodes,
      ...(await tokens(config)),
      ...(await Promise.all(ports.map((port) => gas(port, { db, secrets })))).flat(),
      ...seen.map(({ chain, problem, tipHeight, pollAgeMs }) =>
        problem === null
          ? fine(chain, `seen ${Math.round((pollAgeMs ?? 0) / 1_000)} s ago, at block ${tipHeight}`)
          : warning(chain, problem, 'is a server with role all or watcher running?'),
      ),
      ...(backlog?.frozen ?? []).map(({ chain, asset, reason }) =>
        wrong(`${asset} on ${chain}`, `withdrawals are frozen: ${reason}`, 'run: npx beck reconcile'),
      ),
    ]
  } finally {
    await Promise.all(ports.map((port) => port.close()))
  }
}

async function node(port: ChainPort): Promise<Finding[]> {
  const about = `${port.chain} node`
  const variable = `${port.chain.toUpperCase()}_RPC_URL`
  try {
    await port.identity()
    const { height } = await port.tip()
    const concerns = (await port.concerns?.()) ?? []
    return [
      fine(about, `answers, at block ${height}`),
      ...concerns.map(({ problem, advice }) => warning(about, `the node ${problem}`, advice)),
    ]
  } catch (error) {
    return [wrong(about, messageOf(error), `start the node, or correct ${variable} and its network variable`)]
  }
}

/** Whether the hot wallet of a chain with accounts can pay for what leaves it. */
async function gas(port: ChainPort, store: Pick<Store, 'db' | 'secrets'>): Promise<Finding[]> {
  if (!port.nextNonce) return []
  try {
    const address = await hotWalletOf(store, port.chain)
    if (address === null) return []
    const rates = await port.feeRates()
    if (rates.kind !== 'gas') return []
    const { ETH: balance = 0n } = await port.holdings({ outpoints: [], addresses: [address] })
    const payouts = divideDown(
      balance,
      scheduleOf(rates).payoutMost.token *
        gasPrice({ rate: rates.baseFeeWei, priorityRate: rates.priorityFeeWei }).maxFeeWei,
    )
    const about = `${port.chain} hot wallet`
    const message = `${address} holds ${formatCoins(balance, 'ETH')}, gas for ${payouts} token payouts at once`
    if (payouts >= PAYOUTS_MIN) return [fine(about, message)]
    return [warning(about, message, 'send it ether: it pays the gas of payouts and of tokens that are swept')]
  } catch (error) {
    // What is wrong with the node is said already.
    if (error instanceof OutsideFailure) return []
    throw error
  }
}

/** Whether the contracts of the tokens are tokens on the chain that the node follows. */
async function tokens(config: Config): Promise<Finding[]> {
  const { ethereum } = config.nodes
  if (!ethereum || !/^http/.test(ethereum.rpcUrl)) return []
  const rpc = openRpc(readNode(ethereum.rpcUrl, ['http:', 'https:']))
  try {
    return await Promise.all(
      (['USDC', 'USDT'] as const).map(async (asset) => {
        const contract = config.tokens[asset]
        const variable = `${asset}_CONTRACT`
        try {
          const answer = await rpc.call('eth_call', [{ to: contract, data: ERC20_DECIMALS }, 'latest'])
          const isToken =
            typeof answer === 'string' &&
            /^0x[0-9a-f]{64}$/i.test(answer) &&
            BigInt(answer) === BigInt(ASSET_FACTS[asset].decimals)
          return isToken
            ? fine(asset, `its contract is ${contract}`)
            : wrong(
                asset,
                `at ${contract} is no token of ${ASSET_FACTS[asset].decimals} decimals on ${ethereum.network}`,
                `set ${variable} to its contract there`,
              )
        } catch (error) {
          return wrong(asset, messageOf(error), `start the node, or correct ETHEREUM_RPC_URL and ${variable}`)
        }
      }),
    )
  } finally {
    rpc.close()
  }
}

/** Whether the mail server lets Beck in. */
export async function* mails(config: Config): AsyncGenerator<Finding> {
  if (!config.mail) return
  const { host, port } = config.mail.server
  const trouble = await openMailSender({ ...config.mail, deadlineMs: MAIL_LIMIT_MS }).trouble()
  yield trouble === null
    ? fine('mail', `${host}:${port} lets Beck in`)
    : wrong('mail', `${host}:${port}: ${trouble}`, 'correct SMTP_URL, or start the mail server')
}

export async function rates(config: Config, isNeeded: boolean): Promise<Finding> {
  if (config.fixedRates !== null)
    return warning('rates', 'fixed by BECK_RATES', 'nobody updates them: for closed networks only')
  if (!isNeeded) return fine('rates', 'no live account needs any yet; test accounts have their own')
  const answers = await Promise.allSettled(
    allSources().map(async (source) => {
      await source.readTickers(AbortSignal.timeout(EXCHANGE_LIMIT_MS))
      return source.name
    }),
  )
  const reached = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  return reached.length >= EXCHANGES_MIN
    ? fine('rates', `${reached.join(', ')} answer`)
    : wrong(
        'rates',
        `${reached.length} of ${answers.length} exchanges answer, and ${EXCHANGES_MIN} must agree`,
        'let this machine reach them over HTTPS, or set BECK_RATES=fixed:… on a closed network',
      )
}
