import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'

/** Makes objects of which many are still needed when V8 looks, as deliveries in flight do, and says how large the young space was. */
const busy = (prepare: string) => `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { boundYoungSpace } from '${new URL('give-back-memory.ts', import.meta.url)}'
  ${prepare}
  const kept = []
  let most = 0
  let least = Infinity
  for (let turn = 0; turn < 300; turn++) {
    for (let n = 0; n < 2_000; n++) kept[(turn * 2_000 + n) % 20_000] = { turn, of: [turn, n], said: 'delivery ' + n }
    await new Promise((resolve) => setTimeout(resolve, 1))
    const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    most = Math.max(most, space_size)
    if (turn > 200) least = Math.min(least, space_size)
  }
  console.log(JSON.stringify({ most, least }))`

/** In a process of its own: what is set here holds for all of a process. */
async function youngSpace(prepare: string): Promise<{ readonly most: number; readonly least: number }> {
  const args = ['--input-type=module', '--eval', busy(prepare)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

const MB = 2 ** 20

test('a bounded young space grows to what a busy process needs, and no further', async () => {
  const [bounded, free] = [await youngSpace('boundYoungSpace()'), await youngSpace('')]
  assert.ok(bounded.most <= 16 * MB && bounded.least >= 8 * MB, JSON.stringify(bounded))
  assert.ok(free.most > 16 * MB, `${JSON.stringify(free)} without a bound`)
})
