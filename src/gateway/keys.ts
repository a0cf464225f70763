import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'

const CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const SMALL = 'abcdefghijklmnopqrstuvwxyz0123456789'

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** 8 characters of A-Z and 0-9: public, it stands in the shop's pages. */
export const makeTrackingKey = (): string => randomText(CAPITALS, 8)

/** 10 characters of a-z and 0-9. */
export const makeCustomerId = (): string => randomText(SMALL, 10)

/** 43 characters, 256 random bits: a secret of the shop's servers. */
export const makeRestKey = (): string => randomBytes(32).toString('base64url')

/**
 * What is kept of a secret. It is random and long, so one round of SHA-256 can not be turned back; a
 * slow hash would only let a stranger's requests cost more.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Whether a secret is the one behind the hash, in the same time whatever it is. */
export const isSecret = (given: string, hash: Buffer): boolean =>
  timingSafeEqual(hashSecret(given), hash)
