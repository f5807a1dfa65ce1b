/** What a contract is called with. */
import { type AbiFunction, decodeData, getSelector } from 'ox/AbiFunction'
import type { Hex } from './wire.ts'

/** Told by the selector, its first four bytes. */
export const isCallOf = (called: AbiFunction, data: Hex): boolean =>
  data.toLowerCase().startsWith(getSelector(called))

/** The arguments of a call. @throws when the data calls another function, or has not what this one takes. */
export function readCall<const Called extends AbiFunction>(
  called: Called,
  data: Hex,
): NonNullable<decodeData.ReturnType<Called>> {
  if (!isCallOf(called, data)) throw new RangeError(`not a call of ${called.name}`)
  const args = decodeData(called, data)
  if (args === undefined) throw new RangeError(`a call of ${called.name} without its arguments`)
  return args as NonNullable<decodeData.ReturnType<Called>>
}
