/** Keys, and whether Beck takes them: its clients refuse the same ones before they send anything. */
export const IDEMPOTENCY_KEYS: readonly (readonly [key: string, isTaken: boolean])[] = [
  ['order-1001', true],
  ['a b', true],
  ['a  b, c', true],
  ['~!"#', true],
  ['x'.repeat(255), true],
  ['x'.repeat(256), false],
  ['', false],
  [' ', false],
  [' a', false],
  ['a ', false],
  ['€', false],
  ['ä', false],
  ['a\nb', false],
  ['a\n', false],
  ['a\tb', false],
  ['a\u0000', false],
]
