/** What the sandbox's buttons do. */
import { SANDBOX_TROUBLES } from '../../../accounts/account.ts'
import { networkOf } from '../../../core/assets.ts'
import { showId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/database.ts'
import {
  expireInSandbox,
  mineInSandbox,
  payInSandbox,
  reorganiseInSandbox,
  replaceInSandbox,
  troubleInSandbox,
} from '../../../flows/sandbox.ts'
import type { Payment } from '../../../payments/payment.ts'
import { change } from '../change.ts'
import type { DoneName } from '../done.ts'
import { type DashboardRow, type PlaceCall, placeRow } from '../row.ts'
import { paymentOf, paymentPage } from './payment.ts'

/** @param done - Names the sentence that tells of it. */
const sandboxRow = (
  name: string,
  done: DoneName,
  act: (call: PlaceCall, payment: Payment, tx: Tx) => Promise<unknown>,
): DashboardRow =>
  placeRow('sandbox:write', `POST /:account/payments/:id/sandbox/${name}`, {
    testOnly: true,
    async handle(call) {
      const payment = await paymentOf(call)
      const subject = showId('pay', payment.id)
      await change(call, async (tx, record) => {
        await act(call, payment, tx)
        record({ action: `sandbox.${name}`, subject })
      })
      call.gateway.wake('sandbox')
      return { to: `${call.here}/payments/${subject}`, done }
    },
    redraw: paymentPage,
  })

const troubleRow = placeRow('sandbox:write', 'POST /:account/sandbox/trouble', {
  testOnly: true,
  async handle(call) {
    const { account } = call.place
    const trouble = SANDBOX_TROUBLES.find((each) => each === call.form.get('trouble')) ?? null
    await change(call, async (tx, record) => {
      await troubleInSandbox(tx, account, trouble)
      record({ action: 'sandbox.trouble', subject: showId('acct', account.id), after: { trouble } })
    })
    return { to: `${call.here}/quickstart`, done: 'saved' }
  },
})

export const sandboxRows: readonly DashboardRow[] = [
  troubleRow,
  sandboxRow('pay', 'paid', (call, { id }, tx) =>
    payInSandbox(tx, call.place.account, id, { amount: call.form.get('amount') }),
  ),
  sandboxRow('mine', 'mined', (call, { asset }, tx) => {
    const given = Number(call.form.get('count'))
    const count = Number.isInteger(given) && given >= 1 && given <= 100 ? given : 1
    return mineInSandbox(tx, call.place.account, networkOf(asset), count)
  }),
  sandboxRow('expire', 'expired', (call, { id }, tx) => expireInSandbox(tx, call.place.account, id)),
  sandboxRow('replace', 'replaced', (call, { id }, tx) => replaceInSandbox(tx, call.place.account, id)),
  sandboxRow('reorganise', 'reorganised', (call, { asset }, tx) =>
    reorganiseInSandbox(tx, call.place.account, networkOf(asset), 1),
  ),
]
