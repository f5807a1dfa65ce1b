/** Each schema is, as JSON, what TypeBox makes of the same words. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from './type.ts'

const SAMPLES: Record<keyof typeof Type, (type: typeof TypeBox) => object> = {
  Array: (type) => type.Array(type.String(), { description: 'lines', maxItems: 3 }),
  Boolean: (type) => type.Boolean({ description: 'seen' }),
  Integer: (type) => type.Integer({ minimum: 1, default: 1 }),
  Literal: (type) => type.Literal(true, { description: 'always' }),
  Null: (type) => type.Null(),
  Number: (type) => type.Number({ description: 'dollars' }),
  Object: (type) =>
    type.Object(
      { id: type.String(), name: type.Optional(type.String()), at: type.Number() },
      { title: 'Thing', additionalProperties: false },
    ),
  Optional: (type) => type.Object({ name: type.Optional(type.String({ maxLength: 3 })) }),
  String: (type) => type.String({ maxLength: 255, pattern: '^a', format: 'date-time' }),
  Unknown: (type) => type.Unknown({ description: 'anything' }),
  Unsafe: (type) => type.Unsafe<'a' | null>({ type: ['string', 'null'], enum: ['a', null] }),
}

for (const [name, sample] of Object.entries(SAMPLES))
  test(`${name} is written as TypeBox writes it`, () => {
    const written = sample(Type as typeof TypeBox)
    assert.deepEqual(JSON.parse(JSON.stringify(written)), JSON.parse(JSON.stringify(sample(TypeBox))))
    assert.deepEqual(Object.keys(written), Object.keys(JSON.parse(JSON.stringify(written))))
  })

for (const value of ['live', 7, false])
  test(`the literal ${value} has its type`, () => {
    assert.deepEqual(JSON.parse(JSON.stringify(TypeBox.Literal(value))), { ...Type.Literal(value) })
  })

test('fields of TypeBox and of ours that may be missing may be missing from objects of both', () => {
  for (const [field, whole] of [
    [TypeBox, Type],
    [Type, TypeBox],
  ] as const) {
    const made = whole.Object({ id: field.String(), name: field.Optional(field.String()) })
    assert.deepEqual(made.required, ['id'])
  }
})

test('what a schema is made from stays as it was', () => {
  const name = Type.String()
  assert.deepEqual(Type.Object({ name: Type.Optional(name) }), { type: 'object', properties: { name } })
  assert.deepEqual(Type.Object({ name }), { type: 'object', required: ['name'], properties: { name } })
  // A field that may be missing is copied as what it holds.
  const copied = Type.Unsafe<string>({ ...Type.Optional(name) })
  assert.deepEqual(Type.Object({ copied }), { type: 'object', required: ['copied'], properties: { copied } })
})
