/**
 * A program of its own: a list of TypeScript texts in, the same without their types out, both as JSON. What strips types
 * keeps 20 MB for as long as its process lives, and is needed once.
 */
import { stripTypeScriptTypes } from 'node:module'
import { json } from 'node:stream/consumers'

const texts = (await json(process.stdin)) as string[]
const stripped = JSON.stringify(texts.map((text) => stripTypeScriptTypes(text)))
// Node's own shutdown can hang for ever (nodejs/node#54918), and somebody waits for the end of this process.
process.stdout.write(stripped, () => process.kill(process.pid, 'SIGKILL'))
