import assert from 'node:assert/strict'
import { it } from 'node:test'
import { shippedArtifacts } from '../../../test/solidity.ts'
import artifacts from './contracts/artifacts.json' with { type: 'json' }

it('the bytecode that Beck ships is what the pinned compiler makes of the source beside it', async () => {
  assert.deepEqual(artifacts, await shippedArtifacts())
})
