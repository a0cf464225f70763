import { randomInt } from 'node:crypto'

/**
 * The alphabet of base32 (RFC 4648, 6), 5 bits a character. No lower-case letters, since some clients change what their
 * user types to upper case.
 */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/** 9 characters of A-Z and 2-7. Public: it is in the shop's pages. */
export const makeTrackingKey = (): string => randomText(9)

/** 11 characters of A-Z and 2-7. */
export const makeCustomerId = (): string => randomText(11)

/** 52 characters of A-Z and 2-7, 260 random bits. A secret of the shop's servers. */
export const makeRestKey = (): string => randomText(52)
