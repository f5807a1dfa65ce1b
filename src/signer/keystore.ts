/**
 * The keystore: 256 bits of entropy, shown once as 24 words (BIP-39), kept in one file under a passphrase: argon2id
 * makes the key, AES-256-GCM seals. Whoever has the words has the funds; whoever has the file needs the passphrase.
 */

import { isAscii } from 'node:buffer'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hashRaw } from '@node-rs/argon2'
import { HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToEntropy, mnemonicToSeedWebcrypto } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { conflict, forbidden, invalid, notFound } from '../core/errors.ts'
import { ifThere, syncPath } from '../core/files.ts'
import { makeFolder } from './folder.ts'

/** RFC 9106, second recommended option: 64 MiB, three passes. */
const KDF = { name: 'argon2id', memoryKib: 65_536, passes: 3, lanes: 4 } as const
const PASSPHRASE_LENGTH_MIN = 12
const ENTROPY_BYTES = 32

interface KeystoreFile {
  readonly format: 'beck-keystore-1'
  readonly kdf: typeof KDF & { readonly salt: string }
  readonly nonce: string
  readonly sealed: string
}

/** Entropy for a new wallet. */
export const newEntropy = (): Buffer => randomBytes(ENTROPY_BYTES)

/** The 24 words of the entropy, in English. */
export const wordsOf = (entropy: Uint8Array): string => entropyToMnemonic(entropy, wordlist)

/** @throws {Refusal} `invalid_words` when they are no 24 words with a valid checksum. */
export function entropyOf(words: string): Buffer {
  try {
    const entropy = Buffer.from(
      mnemonicToEntropy(words.trim().toLowerCase().split(/\s+/).join(' '), wordlist),
    )
    if (entropy.length === ENTROPY_BYTES) return entropy
  } catch {
    // The library's message may quote the words.
  }
  throw invalid(
    'invalid_words',
    'these are not 24 words of a BIP-39 wallet with a valid checksum; look at each word and their order',
  )
}

/** BIP-32 root of the words, without a BIP-39 passphrase, as other wallets restore it. */
export async function rootOf(entropy: Uint8Array): Promise<HDKey> {
  return HDKey.fromMasterSeed(await mnemonicToSeedWebcrypto(wordsOf(entropy)))
}

/**
 * Writes a new keystore, readable by its owner only, on disk before this returns. Never overwrites one.
 *
 * @throws {Refusal} `weak_passphrase`; `keystore_exists`.
 */
export async function createKeystore(path: string, entropy: Uint8Array, passphrase: Buffer): Promise<void> {
  const text = await sealKeystore(entropy, passphrase)
  await makeFolder(dirname(path))
  const handle = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600).catch(
    (cause) => {
      throw cause.code === 'EEXIST' ? keystoreExists(path) : cause
    },
  )
  await writeSynced(handle, text)
  await syncPath(dirname(path))
}

/** @throws {Refusal} `keystore_exists`. */
export async function requireNoKeystore(path: string): Promise<void> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  if (isThere) throw keystoreExists(path)
}

const keystoreExists = (path: string) =>
  conflict(
    'keystore_exists',
    `there is a keystore at ${path} already; it is not overwritten. Move it away to make a new wallet`,
  )

/**
 * Seals a keystore's entropy with another passphrase, in one step: whatever fails, the file opens with one of the two.
 *
 * @throws {Refusal} `no_keystore`; `wrong_passphrase`; `weak_passphrase`.
 */
export async function changePassphrase(path: string, passphrase: Buffer, next: Buffer): Promise<void> {
  const entropy = await openKeystore(path, passphrase)
  if (!entropy) throw notFound('no_keystore', `there is no keystore at ${path}`)
  const text = await sealKeystore(entropy, next)
  const draft = `${path}.new`
  await rm(draft, { force: true })
  await writeSynced(await open(draft, 'wx', 0o600), text)
  await rename(draft, path)
  await syncPath(dirname(path))
}

async function writeSynced(handle: FileHandle, text: string): Promise<void> {
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @throws {Refusal} `weak_passphrase`. */
async function sealKeystore(entropy: Uint8Array, passphrase: Buffer): Promise<string> {
  const { length } = passphrase.toString()
  if (length < PASSPHRASE_LENGTH_MIN)
    throw invalid(
      'weak_passphrase',
      `the keystore passphrase has ${length} characters, expected ${PASSPHRASE_LENGTH_MIN} or more; set BECK_KEYSTORE_PASSPHRASE or BECK_KEYSTORE_PASSPHRASE_FILE`,
    )
  const salt = randomBytes(16)
  const nonce = randomBytes(12)
  const kdf = { ...KDF, salt: salt.toString('base64') }
  const cipher = createCipheriv('aes-256-gcm', await sealingKey(passphrase, kdf), nonce)
  const sealed = Buffer.concat([cipher.update(entropy), cipher.final(), cipher.getAuthTag()])
  const file: KeystoreFile = {
    format: 'beck-keystore-1',
    kdf,
    nonce: nonce.toString('base64'),
    sealed: sealed.toString('base64'),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/**
 * Opens a keystore.
 *
 * @returns The entropy; null when there is no keystore.
 * @throws {Refusal} `wrong_passphrase` (or a damaged file: an authenticated cipher cannot tell them apart).
 */
export async function openKeystore(path: string, passphrase: Buffer): Promise<Buffer | null> {
  const text = await ifThere(readFile(path, 'utf8'))
  if (text === null) return null
  try {
    const file: KeystoreFile = JSON.parse(text)
    if (file.format !== 'beck-keystore-1') throw new RangeError(`unknown format ${file.format}`)
    const sealed = Buffer.from(file.sealed, 'base64')
    const key = await sealingKey(passphrase, file.kdf)
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(file.nonce, 'base64'))
    decipher.setAuthTag(sealed.subarray(-16))
    return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
  } catch {
    throw forbidden(
      'wrong_passphrase',
      `the keystore at ${path} does not open: the passphrase is another one, or the file is damaged (the 24 words restore it)`,
    )
  }
}

const sealingKey = (passphrase: Buffer, kdf: KeystoreFile['kdf']): Promise<Buffer> =>
  // ASCII is its own normal form, and needs no text, which nobody can wipe.
  hashRaw(isAscii(passphrase) ? passphrase : passphrase.toString().normalize('NFKD'), {
    salt: Buffer.from(kdf.salt, 'base64'),
    memoryCost: kdf.memoryKib,
    timeCost: kdf.passes,
    parallelism: kdf.lanes,
    outputLen: 32,
  })
