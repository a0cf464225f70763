import { createHmac } from 'node:crypto'

/**
 * The secret of a day (UTC), 32 random bytes. It is the same for all gateways of a data folder and after a restart. It
 * is forgotten when its day is over, so that nobody can repeat the hashes that were made with it.
 *
 * @param at A time of today, ms since 1970.
 * @returns The secret. Use it at once: the buffer is overwritten when the secret is forgotten.
 * @throws Unavailable if it can not be read, or a new one can not be stored.
 */
export type DaySalt = (at: number) => Buffer

/**
 * The device id of an event without consent: a UUID of version 8 (RFC 9562, 5.8) from an HMAC-SHA256. Without the salt
 * it says nothing about the parts, even to somebody who can try all addresses.
 *
 * @param parts What the events of a visitor have in common. JSON joins them, so that no two lists give the same text.
 */
export function makeDayDid(salt: Buffer, parts: readonly string[]): string {
  const bytes = createHmac('sha256', salt).update(JSON.stringify(parts)).digest()
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
