import type * as real from '../../../src/withdrawals/insert-withdrawal.sql.ts'
import { run, Violation } from './tables.ts'

export const insertWithdrawal: typeof real.insertWithdrawal = (tx, request, mac) =>
  run(tx, (tables) => {
    const isRefunded = [...tables.withdrawals.values()].some(
      (each) => each.paymentId === request.paymentId && each.paymentId !== null && each.status !== 'failed',
    )
    if (isRefunded) throw new Violation('23505', `payment ${request.paymentId} has a refund`)
    const row = {
      ...request,
      mac,
      status: 'requested' as const,
      txHash: null,
      createdAt: tables.now(),
      completedAt: null,
      refusedReason: null,
      waitingFor: null,
      cancelWanted: false,
    }
    tables.withdrawals.set(request.id, row)
    return row
  })
