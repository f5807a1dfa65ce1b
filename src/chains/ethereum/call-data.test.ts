import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFunctionData, erc20Abi } from 'viem'
import { isCallOf, readCall } from './call-data.ts'
import { readSweepCall } from './sweep.ts'
import { TRANSFER } from './transfer-call.ts'

const TO = `0x${'ab'.repeat(20)}` as const
const transfer = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [TO, 5n] })

test('a call is read by the function that it names, addresses in lower case', () => {
  assert.equal(isCallOf(TRANSFER, transfer), true)
  assert.deepEqual(readCall(TRANSFER, transfer), [TO, 5n])
})

test('a call of another function with the same arguments is not read as this one', () => {
  const approve = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [TO, 5n] })
  assert.equal(isCallOf(TRANSFER, approve), false)
  assert.throws(() => readCall(TRANSFER, approve), RangeError)
  assert.throws(() => readSweepCall(transfer), RangeError)
})

test('a call that is cut off anywhere is none', () => {
  for (let length = 2; length < transfer.length; length += 2)
    assert.throws(() => readCall(TRANSFER, transfer.slice(0, length) as `0x${string}`))
})
