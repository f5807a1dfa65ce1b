/**
 * After `npm ci --omit=dev`: removes what no running Beck reads from the packages, which is almost half of them. Plain
 * JavaScript, for npm's own Node may be an old one. With development tools everything stays.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../node_modules', import.meta.url))

/** Sources and their maps: Node runs no TypeScript below node_modules. */
const UNREAD = /\.(?:[cm]?ts|map)$/

/** Tests and compilers alone use the first three; npm keeps them, for other packages may be asked to work with them. */
const UNUSED = ['@foundry-rs', '@typescript', 'typescript', 'zod']

/** A package that comes twice, as modules and for `require`. */
const REQUIRED = ['ox', '_cjs']

/** @returns {import('node:fs').Dirent[]} None where there is no such folder. */
const list = (...path) => {
  try {
    return readdirSync(join(packages, ...path), { withFileTypes: true })
  } catch {
    return []
  }
}
const remove = (...path) => rmSync(join(packages, ...path), { recursive: true, force: true })

function removeUnread(...path) {
  for (const entry of list(...path)) {
    if (entry.isDirectory()) removeUnread(...path, entry.name)
    else if (entry.isFile() && UNREAD.test(entry.name)) remove(...path, entry.name)
  }
}

const isWithoutTools =
  /\bdev\b/.test(process.env.npm_config_omit ?? '') || process.env.NODE_ENV === 'production'
if (isWithoutTools) {
  for (const name of UNUSED) remove(name)
  remove(...REQUIRED)
  // For those who compile against Node.
  for (const { name } of list('node', 'node_modules'))
    for (const part of ['include', 'share']) remove('node', 'node_modules', name, part)
  for (const { name } of list('zeromq', 'build').filter((entry) => entry.isDirectory()))
    if (name !== process.platform) remove('zeromq', 'build', name)
  for (const { name } of list('zeromq', 'build', process.platform))
    if (name !== process.arch) remove('zeromq', 'build', process.platform, name)
  removeUnread()
}
