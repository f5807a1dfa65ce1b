/** The three walks of ARCHITECTURE.md lead from file to file as the code does, and nobody is sent into a room a third time. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

/** Where a process of a walk begins: the next one meets what the one before wrote in PostgreSQL, and imports nothing of it. */
const BEGINNINGS = /^(?:http\/(?:guard|route|api\/\w+)|workers\/[\w-]+|signer\/signer)\.ts$/

const ENTERED_MAX = 2

const guide = await readFile('ARCHITECTURE.md', 'utf8')
const [head = '', , ...lines] = (guide.split('## Three walks')[1]?.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('|'))
const cellsOf = (line: string) => line.split('|').slice(1, -1)

for (const [column, name] of cellsOf(head).entries()) {
  const files = lines.flatMap((line) =>
    [...(cellsOf(line)[column] ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
  )

  test(`${name.trim()}: each file is reached from one before it`, async () => {
    assert.ok(files.length > 8, 'the walk is in the guide')
    const reached = new Set<string>()
    for (const file of files) {
      const text = await readFile(`src/${file}`, 'utf8')
      assert.ok(BEGINNINGS.test(file) || reached.has(file), `nothing before it imports ${file}`)
      for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g))
        reached.add(new URL(path, `file:///${file}`).pathname.slice(1))
    }
  })
  test(`${name.trim()}: no room is entered more than twice, while its flow stays open`, () => {
    // A flow stays open while the rooms that it calls are visited.
    const [flows, others] = [true, false].map((isFlow) =>
      files.filter((file) => file.startsWith('flows/') === isFlow),
    )
    for (const visited of [flows ?? [], others ?? []]) {
      const rooms = visited.map((file) => file.slice(0, file.lastIndexOf('/')))
      const entered = rooms.filter((room, index) => room !== rooms[index - 1])
      for (const [room, times] of Map.groupBy(entered, (each) => each))
        assert.ok(times.length <= ENTERED_MAX, `${room} is entered ${times.length} times`)
    }
  })
}
