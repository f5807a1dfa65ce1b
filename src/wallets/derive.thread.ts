/** The thread that derives addresses: curve arithmetic holds up nobody who asks for something. */
import { serveThread } from '../core/threads.ts'
import { deriveHere } from './address-pool.sql.ts'

serveThread(deriveHere)
