/** Bytes of a UUID. */
export const UUID_BYTES = 16
const HYPHEN = 45
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** Whether it is a UUID in its usual text form, in upper or lower case. */
export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && UUID.test(value)

/**
 * Writes a UUID as bytes, in half the time of `Buffer.write` with `hex`.
 *
 * @param uuid In its usual text form, in upper or lower case.
 */
export function writeUuid(bytes: Uint8Array, offset: number, uuid: string): void {
  let at = offset
  let high = -1
  for (let i = 0; i < uuid.length; i++) {
    const code = uuid.charCodeAt(i)
    if (code === HYPHEN) continue
    // A digit ends in its value. A letter, in both cases, ends in 1 for A and has bit 6.
    const digit = (code & 15) + (code >> 6) * 9
    if (high < 0) high = digit
    else {
      bytes[at++] = high * 16 + digit
      high = -1
    }
  }
}

/** The bytes of a UUID in its usual text form, in upper or lower case. */
export function bytesOf(uuid: string): Buffer {
  const bytes = Buffer.alloc(UUID_BYTES)
  writeUuid(bytes, 0, uuid)
  return bytes
}

/** The usual text form of a UUID, in lower case. */
export function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
