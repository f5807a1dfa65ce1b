/** Where development keeps its database, its shop and its key: a folder of its own, beside what `npm start` keeps. */
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { conflict } from '../src/core/errors.ts'
import { ifThere } from '../src/core/files.ts'

export const DEV_DIR = resolve(process.env.BECK_DATA_DIR ?? 'data-dev')

export interface DevPlace {
  /** Of the embedded PostgreSQL, which lives as long as `npm run dev`. */
  readonly databaseUrl: string
  readonly api: string
  readonly accountId: string
  /** Of a test account on this machine's own database: it opens nothing else. */
  readonly key: string
}

const FILE = join(DEV_DIR, 'dev.json')

export const writePlace = (place: DevPlace): Promise<void> =>
  writeFile(FILE, JSON.stringify(place, null, 2), { mode: 0o600 })

export async function findPlace(): Promise<DevPlace | null> {
  const text = await ifThere(readFile(FILE, 'utf8'))
  return text === null ? null : JSON.parse(text)
}

/** @throws {Refusal} saying what to run first. */
export async function requirePlace(): Promise<DevPlace> {
  const place = await findPlace()
  if (place) return place
  throw conflict('not_running', 'run `npm run dev` in another terminal first, and leave it running')
}
