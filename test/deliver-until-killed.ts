/** A worker process for tests that kill it: `node deliver-until-killed.ts DATABASE_URL SECRET_KEY_HEX`. */
import { SILENT } from '../src/core/log.ts'
import { openSecrets } from '../src/core/secrets.ts'
import { openDatabase } from '../src/db/database.ts'
import { startDeliverer } from '../src/workers/deliver.ts'

const [url = '', key = ''] = process.argv.slice(2)
startDeliverer(
  {
    db: openDatabase({ url }),
    secrets: openSecrets(Buffer.from(key, 'hex')),
    log: SILENT,
    settings: { webhookAllowPrivate: true },
  },
  { idleMs: 10 },
)
