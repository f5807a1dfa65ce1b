/**
 * Beck's files name each other whole (`./ledger/post.sql.ts`), so there is nothing to look for when one imports another. Node
 * looks all the same, thousands of times in a start: for folders, for links, for the nearest `package.json`.
 */
import { registerHooks } from 'node:module'

const ROOT = new URL('../../', import.meta.url).href

/**
 * For what is imported from now on, in this thread. A file that is not there fails when it is read. Hooks that were registered
 * before are not asked about such an import: who has one to change it registers it after this.
 */
export function importQuickly(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context
      if (!parentURL?.startsWith(ROOT) || !specifier.startsWith('.') || !specifier.endsWith('.ts'))
        return next(specifier, context)
      return { url: new URL(specifier, parentURL).href, format: 'module-typescript', shortCircuit: true }
    },
  })
}
