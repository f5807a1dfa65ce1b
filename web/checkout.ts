/** The checkout's own script: the page works without it, this keeps it live. */
import { startLive } from './live.ts'

startLive()
