/** What is done about payments, customers, links and money that leaves. */

import { insertPaymentLink } from '../../src/checkout/payment-links.sql.ts'
import { insertPointOfSale } from '../../src/checkout/points-of-sale.sql.ts'
import { newId, showId } from '../../src/core/ids.ts'
import { mineInSandbox, payInSandbox } from '../../src/flows/sandbox.ts'
import { insertNote, type NoteSubject } from '../../src/users/notes.sql.ts'
import { insertSavedView, listSavedViews } from '../../src/users/saved-views.sql.ts'
import { DESTINATIONS } from '../payout-story.ts'
import type { Actor } from './actor.ts'
import type { Scene } from './scene.ts'
import type { Press, Stories, Story } from './story.ts'

const DESTINATION = DESTINATIONS['sim-bitcoin']

/** A button on the page of a payment that waits. */
const onPayment = (
  name: string,
  button: string,
  seen: string,
  before?: (scene: Scene, id: Id) => Promise<unknown>,
): Story => ({
  async open(scene) {
    const { id } = await scene.payment()
    await before?.(scene, id)
    const page = `${scene.main.home}/payments/${showId('pay', id)}`
    return { page, action: `${page}/${name}`, button, seen }
  },
})
type Id = Awaited<ReturnType<Scene['payment']>>['id']

const paid = ({ transact, main }: Scene, id: Id) => transact((tx) => payInSandbox(tx, main.account, id, {}))
const mined = ({ transact, main }: Scene) => transact((tx) => mineInSandbox(tx, main.account, 'litecoin', 2))

const noted = async (scene: Scene, actor: Actor, subject: NoteSubject): Promise<string> => {
  const note = { subject, text: 'Call back', userId: actor.userId }
  return showId('note', await scene.transact((tx) => insertNote(tx, scene.main.account.id, note)))
}

const onCustomer = (
  open: (scene: Scene, actor: Actor, page: string, id: CustomerId) => Promise<Omit<Press, 'page'>>,
): Story => ({
  async open(scene, actor) {
    const id = await scene.customer()
    const page = `${scene.main.home}/customers/${showId('cus', id)}`
    return { page, ...(await open(scene, actor, page, id)) }
  },
})
type CustomerId = Awaited<ReturnType<Scene['customer']>>

const VIEWED = 'filter_status=pending'

export const PAYMENT_STORIES: Stories = {
  'POST /:account/views': {
    open: async ({ main: { home } }) => ({
      page: `${home}/payments?${VIEWED}`,
      action: `${home}/views`,
      fields: { name: 'Mine' },
      seen: 'The view is saved.',
    }),
  },
  'POST /:account/views/:id/delete': {
    isAlone: true,
    async open({ main: { account, home }, transact, db }, { userId }) {
      const draft = { page: 'payments', name: 'Mine', query: VIEWED } as const
      await transact((tx) => insertSavedView(tx, userId, account.id, draft))
      const [view] = await listSavedViews(db, userId, account.id, 'payments')
      const action = `${home}/views/${view && showId('view', view.id)}/delete`
      return { page: `${home}/payments?${VIEWED}`, action, seen: 'The view is gone.' }
    },
  },
  'POST /:account/payments/new': {
    open: async ({ main: { home } }) => ({
      page: `${home}/payments/new`,
      action: `${home}/payments/new`,
      fields: { fiat_amount: '19.90', reference: 'order-7' },
      seen: '$19.90 pending',
    }),
  },
  'POST /:account/payments/:id/sandbox/pay': onPayment(
    'sandbox/pay',
    'Pay half of it',
    'Paid on the simulated chain.',
  ),
  'POST /:account/payments/:id/sandbox/mine': onPayment('sandbox/mine', 'Mine 1', 'Blocks were mined.'),
  'POST /:account/payments/:id/sandbox/expire': onPayment(
    'sandbox/expire',
    'End the window',
    'The window is over.',
  ),
  'POST /:account/payments/:id/sandbox/replace': onPayment(
    'sandbox/replace',
    'Double-spend',
    'The transaction was double-spent.',
    paid,
  ),
  'POST /:account/payments/:id/sandbox/reorganise': onPayment(
    'sandbox/reorganise',
    'Reorganise Litecoin',
    'The newest blocks were replaced',
    mined,
  ),
  'POST /:account/sandbox/trouble': {
    async open(scene, actor) {
      const { home } = await scene.shop(actor)
      const page = `${home}/quickstart`
      return {
        page,
        action: `${home}/sandbox/trouble`,
        button: 'No exchange answers',
        seen: 'All is well again',
      }
    },
  },
  'POST /:account/payments/:id/cancel': onPayment(
    'cancel',
    'Cancel the payment',
    'The payment is cancelled.',
  ),
  'POST /:account/payments/:id/accept': {
    async open(scene) {
      const page = `${scene.main.home}/payments/${showId('pay', scene.held().id)}`
      return { page, action: `${page}/accept`, seen: 'What the payment held is credited.' }
    },
  },
  'POST /:account/payments/:id/notes': {
    async open(scene) {
      const page = `${scene.main.home}/payments/${showId('pay', (await scene.payment()).id)}`
      return {
        page,
        action: `${page}/notes`,
        fields: { note: 'Ask about the parcel' },
        seen: 'Ask about the parcel',
      }
    },
  },
  'POST /:account/payments/:id/notes/:note/delete': {
    async open(scene, actor) {
      const { id } = await scene.payment()
      const page = `${scene.main.home}/payments/${showId('pay', id)}`
      const note = await noted(scene, actor, { kind: 'payment', id })
      return { page, action: `${page}/notes/${note}/delete`, seen: 'The note is gone.' }
    },
  },
  'POST /:account/payments/:id/refund': {
    async open(scene) {
      const path = `${scene.main.home}/payments/${showId('pay', scene.held().id)}/refund`
      return {
        page: path,
        action: path,
        fields: { destination_address: DESTINATION },
        seen: 'The refund is on its way.',
      }
    },
  },
  'POST /:account/customers/new': {
    async open({ main: { home } }) {
      const path = `${home}/customers/new`
      const fields = { email: `${newId('cus')}@example.com`, name: 'Grace Hopper' }
      return { page: path, action: path, fields, seen: 'The customer is added.' }
    },
  },
  'POST /:account/customers/:id': onCustomer(async (_scene, _actor, page) => ({
    action: page,
    fields: { name: 'Grace Hopper' },
    seen: 'The customer is saved.',
  })),
  'POST /:account/customers/:id/notes': onCustomer(async (_scene, _actor, page) => ({
    action: `${page}/notes`,
    fields: { note: 'Regular' },
    seen: 'The note is added.',
  })),
  'POST /:account/customers/:id/notes/:note/delete': onCustomer(async (scene, actor, page, id) => ({
    action: `${page}/notes/${await noted(scene, actor, { kind: 'customer', id })}/delete`,
    seen: 'The note is gone.',
  })),
  'POST /:account/links': {
    open: async ({ main: { home } }) => ({
      page: `${home}/links/new`,
      action: `${home}/links`,
      fields: { label: 'Tea', amount: '5' },
      seen: 'Tea active',
    }),
  },
  'POST /:account/links/:id': {
    async open({ main: { account, home }, transact }) {
      const draft = { accountId: account.id, label: 'Tea', amountMinor: 500n, currency: 'USD' } as const
      const page = `${home}/links/${showId('plink', (await transact((tx) => insertPaymentLink(tx, draft))).id)}`
      return { page, action: page, button: 'Disable', seen: 'The link accepts no more payments.' }
    },
  },
  'POST /:account/points-of-sale': {
    open: async ({ main: { home } }) => ({
      page: `${home}/points-of-sale`,
      action: `${home}/points-of-sale`,
      fields: { name: 'Market stall' },
      seen: 'Its link',
    }),
  },
  'POST /:account/points-of-sale/:id/revoke': {
    async open({ main: { account, home }, transact }) {
      const draft = { accountId: account.id, name: 'Counter', currency: 'USD' } as const
      const { id } = await transact((tx) => insertPointOfSale(tx, draft))
      const page = `${home}/points-of-sale/${showId('pos', id)}`
      return { page, action: `${page}/revoke`, seen: 'Saved.' }
    },
  },
  'POST /:account/checkout': {
    open: async ({ main: { home } }) => ({
      page: `${home}/checkout/new`,
      action: `${home}/checkout`,
      fields: { label: 'Order 7', amount: '12.50' },
      seen: 'Send this to the buyer',
    }),
  },
}

const LINES = `address,amount,coin,note\n${DESTINATION},0.001,BTC,Salary`

const checkPress = ({ main: { home } }: Scene): Press => ({
  page: `${home}/withdrawals/batches/new`,
  action: `${home}/withdrawals/batches/check`,
  fields: { name: 'Salaries', payouts: LINES },
  seen: 'All 1 line can be paid out.',
})

export const MONEY_STORIES: Stories = {
  'POST /:account/withdrawals': {
    open: async ({ main: { home } }) => ({
      page: `${home}/withdrawals/new?asset=BTC`,
      action: `${home}/withdrawals`,
      quote: `${home}/withdrawals/quote`,
      fields: { amount: '0.001', destination_address: DESTINATION },
      seen: 'The withdrawal is on its way.',
    }),
  },
  'POST /:account/withdrawals/quote': { heardWith: 'POST /:account/withdrawals' },
  'POST /:account/withdrawals/:id/cancel': {
    async open({ main: { home }, story }) {
      const page = `${home}/withdrawals/${showId('wd', (await story.request('BTC', '0.001')).id)}`
      return { page, action: `${page}/cancel`, seen: 'It is being cancelled; its amount' }
    },
  },
  'POST /:account/withdrawals/batches/check': { open: async (scene) => checkPress(scene) },
  'POST /:account/withdrawals/batches': {
    async open(scene) {
      const first = checkPress(scene)
      const action = `${scene.main.home}/withdrawals/batches`
      return { page: first.page, first, action, seen: 'The payouts are asked for.' }
    },
  },
}
