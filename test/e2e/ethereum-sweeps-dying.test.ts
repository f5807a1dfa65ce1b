/**
 * Sweeps while signer and worker die at every write: between journal, database and node. Each of their steps dies once for
 * each transaction and is continued by a new process's state; the books are proven all along.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { ChainPort } from '../../src/chains/chain.ts'
import { type Journal, openJournal, type SignedEntry } from '../../src/signer/journal.ts'
import { signerTurn } from '../../src/signer/signer.ts'
import { payOnce } from '../payouts.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

class Died extends Error {}

/** Throws once for each name, at the place that is meant to die. */
function deaths() {
  const died = new Set<string>()
  return (place: string, name: string): void => {
    const key = `${place} ${name}`
    if (died.has(key)) return
    died.add(key)
    throw new Died(key)
  }
}

const STEPS = ['after journaling', 'before it is known as placed', 'before it is released'] as const

describe('sweeps of a signer and a worker that die at every step', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway, port, signer } = payouts

  for (const step of STEPS)
    it(`of the signer ${step}: every deposit arrives once`, async () => {
      const die = deaths()
      const path = join(signer.config.folder, 'journal')
      await signer.journal.close()
      let journal = await openJournal(path)
      after(() => journal.close())
      const before = await tokens()
      // Two rounds: the first sweeps alone and deploys the delegate, later ones sweep together.
      let paid = 0n
      for (let round = 0; round < 2; round++) {
        await payouts.earn('ETH', 200n)
        paid += (await payouts.earn('USDC', 100n)) + (await payouts.earn('USDC', 100n))
        for (let turn = 0; turn < 9; turn++) {
          while (!(await signs({ ...signer, journal: dying(journal, step, die) }))) {
            await journal.close()
            journal = await openJournal(path)
          }
          await payOnce(gateway, port)
          await payouts.follow()
          await payouts.prove()
          await anvil.mine()
          await payouts.follow()
        }
      }
      assert.equal((await tokens()) - before, paid)
      await nothingIsLeft()
    })

  it('of the worker, its answers lost at every sending: every deposit arrives once', async () => {
    const die = deaths()
    const lossy: ChainPort = {
      ...port,
      async broadcast(raw) {
        const outcome = await port.broadcast(raw)
        die('sending', raw)
        return outcome
      },
    }
    const journal = await openJournal(join(signer.config.folder, 'journal'))
    after(() => journal.close())
    const before = await tokens()
    const paid = (await payouts.earn('USDC', 100n)) + (await payouts.earn('USDC', 100n))
    await payouts.earn('ETH', 200n)
    for (let turn = 0; turn < 9; turn++) {
      assert.ok(await signs({ ...signer, journal }))
      await payOnce(gateway, lossy).catch((error) => assert.ok(error instanceof Died))
      // What else was to be sent in that turn is due again after half a minute.
      await payouts.pass(1)
      await payouts.follow()
      await payouts.prove()
      await anvil.mine()
      await payouts.follow()
    }
    assert.equal((await tokens()) - before, paid)
    await nothingIsLeft()
  })

  const tokens = () => payouts.tokensOf('USDC', payouts.hotWallet)

  async function nothingIsLeft(): Promise<void> {
    const { rows } = await gateway.db.query(
      `select (select count(*) from sweeps where status <> 'done') as sweeps,
         (select count(*) from signed_transactions where status <> 'confirmed') as transactions,
         (select count(*) from deposits where sweep is null) as deposits`,
    )
    assert.deepEqual(rows, [{ sweeps: 0n, transactions: 0n, deposits: 0n }])
  }
})

/** Signs all there is. @returns False when it died on the way. */
async function signs(signer: Parameters<typeof signerTurn>[0]): Promise<boolean> {
  let failed = false
  const log = { ...signer.log, error: () => (failed = true) }
  try {
    while (await signerTurn({ ...signer, log }));
  } catch (error) {
    assert.ok(error instanceof Died)
    return false
  }
  return !failed
}

function dying(journal: Journal, step: (typeof STEPS)[number], die: ReturnType<typeof deaths>): Journal {
  const at = (place: string, { txid }: SignedEntry) => {
    if (place === step) die(place, txid)
  }
  return {
    ...journal,
    async signed(entry) {
      await journal.signed(entry)
      at('after journaling', entry)
    },
    async placed(entry) {
      at('before it is known as placed', entry)
      await journal.placed(entry)
      at('before it is released', entry)
    },
  }
}
