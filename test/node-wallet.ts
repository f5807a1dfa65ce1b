/** The wallet of a test node: pays quickly, with transactions whose replacement and reorganisation can be told. */

/** Address and decimal amount in whole coins, in the order of the outputs. */
export type Outputs = readonly (readonly [address: string, amount: string])[]

export interface NodeWallet {
  /** A fresh segwit address of the node's own wallet. */
  address(): Promise<string>
  /** Mines blocks that pay the node's wallet; returns their hashes. */
  mine(count?: number): Promise<string[]>
  /** Mines one block without any transaction of the mempool. */
  mineEmpty(): Promise<string>
  /**
   * Pays the outputs in one transaction that signals replacement and has no lock time (one with a lock time at the tip
   * does not survive a reorganisation); returns its id. One at a time: two at once may pick the same UTXOs.
   */
  pay(outputs: Outputs, options?: { fee?: string }): Promise<string>
  /** The same, signed but not sent. */
  sign(outputs: Outputs, options?: { fee?: string }): Promise<string>
  /** Spends what an unconfirmed transaction spends, at a much higher fee: pays these outputs, the rest to the wallet itself. */
  replace(txid: string, outputs?: Outputs): Promise<string>
  /** Splits UTXOs of the wallet into many of one size, and mines them. */
  fanOut(count: number, amount: string): Promise<void>
  /** Asks the node anew what it can spend, before the next payment. */
  forget(): void
}

type Call = <Answer = unknown>(method: string, ...params: unknown[]) => Promise<Answer>

interface Utxo {
  readonly txid: string
  readonly vout: number
  readonly amount: number
  readonly confirmations: number
}

/** BIP-125. */
const SIGNALS_REPLACEMENT = 0xffff_fffd
const atoms = (amount: string | number): number => Math.round(Number(amount) * 1e8)
const decimal = (amount: number): string => (amount / 1e8).toFixed(8)

export function nodeWallet(call: Call): NodeWallet {
  // UTXOs are chosen here, confirmed ones first, the largest first: asking the node takes it 50 ms each time.
  let utxos: Utxo[] | undefined
  const forget = () => {
    utxos = undefined
  }
  const address = () => call<string>('getnewaddress', '', 'bech32')

  const signed = async (inputs: readonly Utxo[], outputs: Outputs): Promise<string> => {
    const raw = await call<string>(
      'createrawtransaction',
      inputs.map(({ txid, vout }) => ({ txid, vout, sequence: SIGNALS_REPLACEMENT })),
      outputs.map(([to, amount]) => ({ [to]: amount })),
      0,
    )
    const answer = await call<{ hex: string; complete: boolean }>('signrawtransactionwithwallet', raw)
    if (!answer.complete) throw new Error('the wallet could not sign')
    return answer.hex
  }
  const prepare = async (outputs: Outputs, fee = '0.0002') => {
    const due = outputs.reduce((sum, [, amount]) => sum + atoms(amount), atoms(fee))
    const choose = () => {
      const chosen: Utxo[] = []
      let missing = due
      for (const each of utxos ?? []) {
        if (missing <= 0) break
        chosen.push(each)
        missing -= atoms(each.amount)
      }
      return missing > 0 ? null : { chosen, change: -missing }
    }
    let choice = choose()
    if (!choice) {
      utxos = await call<Utxo[]>('listunspent', 0)
      utxos.sort((a, b) => Math.sign(b.confirmations) - Math.sign(a.confirmations) || b.amount - a.amount)
      choice = choose()
    }
    if (!choice) throw new Error(`the wallet is short of coins for ${decimal(due)}`)
    const { chosen, change } = choice
    const hex = await signed(
      chosen,
      change > 0 ? [...outputs, [await address(), decimal(change)] as const] : outputs,
    )
    return { hex, chosen }
  }
  const mine: NodeWallet['mine'] = async (count = 1) => {
    forget()
    return call('generatetoaddress', count, await address())
  }
  const pay: NodeWallet['pay'] = async (outputs, options = {}) => {
    const { hex, chosen } = await prepare(outputs, options.fee)
    utxos = utxos?.filter((each) => !chosen.includes(each))
    return call<string>('sendrawtransaction', hex)
  }

  return {
    address,
    forget,
    mine,
    pay,
    sign: async (outputs, options = {}) => (await prepare(outputs, options.fee)).hex,
    async mineEmpty() {
      forget()
      return (await call<{ hash: string }>('generateblock', await address(), [])).hash
    },
    async replace(txid, outputs = []) {
      forget()
      const { vin } = await call<{ vin: { txid: string; vout: number }[] }>('getrawtransaction', txid, 1)
      const inputs: Utxo[] = []
      for (const { txid: spent, vout } of vin) {
        const { decoded } = await call<{ decoded: { vout: { value: number }[] } }>(
          'gettransaction',
          spent,
          true,
          true,
        )
        inputs.push({ txid: spent, vout, amount: decoded.vout[vout]?.value ?? 0, confirmations: 0 })
      }
      const total = inputs.reduce((sum, { amount }) => sum + atoms(amount), 0)
      const paid = outputs.reduce((sum, [, amount]) => sum + atoms(amount), atoms('0.01'))
      const hex = await signed(inputs, [...outputs, [await address(), decimal(total - paid)]])
      return call<string>('sendrawtransaction', hex)
    },
    async fanOut(count, amount) {
      const addresses = await Promise.all(Array.from({ length: count }, address))
      await pay(addresses.map((to) => [to, amount] as const))
      await mine()
    },
  }
}
