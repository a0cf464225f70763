import { createHash, timingSafeEqual } from 'node:crypto'

/** Length of a hash of `hashSecret`, bytes. */
export const HASH_BYTES = 32

/**
 * The hash that is stored instead of a secret. Secrets are random and long, so one round of SHA-256 can not be
 * reversed, and a slow hash would only make the requests of strangers cost more.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Whether a text is the secret of a hash. Takes the same time for every text of the same length. */
export const isSecret = (text: string, hash: Buffer): boolean =>
  timingSafeEqual(hashSecret(text), hash)
