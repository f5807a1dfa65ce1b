/** An API server for tests that kill it: `node serve-until-killed.ts DATABASE_URL`. Prints its port. */
import { openDatabase } from '../../src/db/database.ts'
import { startServer } from '../../src/http/server.ts'
import { UNLIMITED } from '../api.ts'
import { gatewayOn } from '../gateway-on.ts'
import { TEST_SECRETS } from '../wallet.ts'

const db = openDatabase({ url: process.argv[2] ?? '' })
const server = await startServer(gatewayOn(db, TEST_SECRETS), {
  port: 0,
  host: '127.0.0.1',
  rateLimit: UNLIMITED,
})
process.stdout.write(`${server.port}\n`)
