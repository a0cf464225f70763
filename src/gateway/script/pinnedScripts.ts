import { createHash } from 'node:crypto'

/*
 * Scripts that never change, each at an address with its hash: for tags with an integrity attribute, which a browser
 * runs only if the text is still the same.
 */

/** How many scripts of a key are kept. */
export const MAX_PINNED = 10

/** A pinned script, without its text. */
export type PinnedScript = {
  /** SHA-384 of its text, base64url: 64 characters. The name of its file. */
  readonly hash: string
  /** Version of shoptrail that has made it. */
  readonly version: string
  /** When it was made, ms since 1970. */
  readonly madeAt: number
}

/** The pinned scripts of all keys. Every call throws Unavailable like those of Customers. */
export type PinnedScripts = {
  /**
   * Keeps a script, unless it is there already.
   *
   * @param bytes Its text, compressed with brotli.
   * @returns False if the key has MAX_PINNED others. None of them is removed, since a page may use it.
   */
  add(trackingKey: string, script: Omit<PinnedScript, 'madeAt'>, bytes: Buffer): boolean
  /** The text, compressed with brotli. Undefined if there is none. */
  find(trackingKey: string, hash: string): Buffer | undefined
  /** The oldest first. */
  list(trackingKey: string): readonly PinnedScript[]
  /** False if there is none. */
  remove(trackingKey: string, hash: string): boolean
}

/** The name of a pinned script's file, without `.js`. */
export const hashOf = (script: string | Uint8Array): string =>
  createHash('sha384').update(script).digest('base64url')

/** The value of the attribute integrity for a pinned script. */
export const toIntegrity = (hash: string): string =>
  `sha384-${Buffer.from(hash, 'base64url').toString('base64')}`

/** Whether a text may be the hash of a pinned script. */
export const isHash = (text: string): boolean => /^[\w-]{64}$/.test(text)
