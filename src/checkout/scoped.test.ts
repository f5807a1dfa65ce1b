/** What a visitor reaches by an id alone, a merchant reaches within his own account only. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import test from 'node:test'
import { testAccount, testGateway, testSession } from '../../test/gateway.ts'
import { readCheckout, readCheckoutOf } from '../flows/checkout/checkout.ts'
import { findLinkForVisitor, findPaymentLink, insertPaymentLink } from './payment-links.sql.ts'
import { findPointForSeller, findPointOfSale, insertPointOfSale } from './points-of-sale.sql.ts'

test("links, points of sale and sessions of one account are nobody else's", async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const [own, other] = [await testAccount(gateway), await testAccount(gateway)]
  const accountId = own.id
  const link = await db.transaction((tx) =>
    insertPaymentLink(tx, { accountId, label: 'Tea', amountMinor: 4_50n, currency: 'USD' }),
  )
  const point = await db.transaction((tx) =>
    insertPointOfSale(tx, { accountId, name: 'Bar', currency: 'USD' }),
  )
  const { id: session } = await testSession(gateway, own)
  for (const [visitor, merchant] of [
    [findLinkForVisitor(db, link.id), (id: typeof accountId) => findPaymentLink(db, id, link.id)],
    [findPointForSeller(db, point.id), (id: typeof accountId) => findPointOfSale(db, id, point.id)],
    [readCheckout(db, session), (id: typeof accountId) => readCheckoutOf(db, id, session)],
  ] as const) {
    assert.ok(await visitor)
    assert.ok(await merchant(own.id))
    assert.equal(await merchant(other.id), null)
  }
})

test("no merchant's route looks for what is of a visitor", async () => {
  const found: string[] = []
  for await (const file of glob('src/http/{api,dashboard}/**/*.ts'))
    if (
      !file.endsWith('.test.ts') &&
      /\b(find\w+For(Visitor|Seller|Buyer)|readCheckout)\b/.test(await readFile(file, 'utf8'))
    )
      found.push(file)
  assert.deepEqual(found, [])
})
