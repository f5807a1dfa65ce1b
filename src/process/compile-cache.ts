/** Compiled modules are kept beside the packages they are made from, so that every start but the first is quicker. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/beck', import.meta.url))

/** For what is imported from now on. A folder that cannot be written is no trouble: then nothing is kept. */
export function keepCompiled(): void {
  enableCompileCache(COMPILE_CACHE)
}
