import type { FileHandle } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'

/*
 * A gzip file may have several members, one after the other, and all tools read them as one file (RFC 1952, 2.2). Each
 * member here has its own length in an extra field of its head, so that the end of the last complete one is found
 * without reading the others.
 */

/** A place in a file. */
export type Member = { readonly offset: number; readonly length: number }

/** The head that Node's zlib writes, which has no extra field. */
const PLAIN_HEAD_BYTES = 10
/** Magic bytes, deflate, a head with an extra field. */
const MAGIC = Buffer.from([0x1f, 0x8b, 8, 4])
/** No time, no flags, unknown system; 8 bytes of extra fields: one called ST with 4 bytes. */
const REST = Buffer.from([0, 0, 0, 0, 0, 255, 8, 0, 0x53, 0x54, 4, 0])
const LENGTH_AT = MAGIC.length + REST.length
const HEAD_BYTES = LENGTH_AT + 4

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** A text as a member. */
export async function makeMember(text: string): Promise<Buffer> {
  const plain = await compress(text)
  const body = plain.subarray(PLAIN_HEAD_BYTES)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(HEAD_BYTES + body.length)
  return Buffer.concat([MAGIC, REST, length, body])
}

/** The complete members from the beginning of a file. What is after the last one is the rest of a broken write. */
export async function findMembers(file: FileHandle): Promise<readonly Member[]> {
  const { size } = await file.stat()
  const head = Buffer.alloc(HEAD_BYTES)
  const members: Member[] = []
  for (let offset = 0; offset + HEAD_BYTES <= size; ) {
    await file.read(head, 0, HEAD_BYTES, offset)
    const length = head.readUInt32LE(LENGTH_AT)
    const isHead =
      head.subarray(0, MAGIC.length).equals(MAGIC) &&
      head.subarray(MAGIC.length, LENGTH_AT).equals(REST)
    if (!isHead || length <= HEAD_BYTES || offset + length > size) break
    members.push({ offset, length })
    offset += length
  }
  return members
}

/** @returns The text of a member. Undefined if its bytes are damaged. */
export async function readMember(
  file: FileHandle,
  { offset, length }: Member,
): Promise<string | undefined> {
  const bytes = Buffer.alloc(length)
  await file.read(bytes, 0, length, offset)
  try {
    return (await decompress(bytes)).toString()
  } catch {
    return undefined
  }
}
