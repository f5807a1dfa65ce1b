/** The deliverer in a process of its own, so that its memory is nobody else's. */
import { boundYoungSpace } from '../../src/core/give-back-memory.ts'
import { SILENT } from '../../src/core/log.ts'
import { openSecrets } from '../../src/core/secrets.ts'
import { openDatabase } from '../../src/db/database.ts'
import { startDeliverer } from '../../src/workers/deliver.ts'
import type { Loop } from '../../src/workers/loop.ts'

interface Prepare {
  readonly url: string
  readonly key: string
  readonly ca: string
  readonly inFlightMax: number
}
let prepared: Prepare | undefined
let loop: Loop | undefined

process.on('message', async (message: Prepare | { start: true } | { stop: true }) => {
  if ('url' in message) {
    prepared = message
    process.send?.({})
  } else if ('start' in message && prepared) {
    const { url, key, ca, inFlightMax } = prepared
    const db = openDatabase({ url })
    const secrets = openSecrets(Buffer.from(key, 'hex'))
    const settings = { webhookAllowPrivate: true }
    boundYoungSpace()
    loop = startDeliverer({ db, secrets, log: SILENT, settings }, { inFlightMax, sender: { ca } })
  } else {
    // The most the process ever held, in kilobytes.
    const rssMb = process.resourceUsage().maxRSS / 1_024
    await loop?.stop()
    process.send?.({ rssMb })
  }
})
process.on('disconnect', () => process.exit())
