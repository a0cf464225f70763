import { createHash } from 'node:crypto'
import type { CampaignRow } from '../sqlite/campaignRows.ts'
import { toToken } from './names.ts'

/** A campaign as the value of its key. */
export type CampaignEntry = {
  readonly customer: string
  /** JSON. */
  readonly summary: string
  /** The name of the content in the object store. Undefined if the content is in the value. */
  readonly object: string | undefined
  /** Size of the content, bytes of UTF-8. */
  readonly contentBytes: number
  /** Empty if it is in the object store. */
  readonly content: Uint8Array
}

type Head = {
  readonly customer: string
  readonly object?: string | undefined
  readonly contentBytes: number
}

/** The longest part of a key, characters. A server takes 4 KiB for the whole line with the subject. */
const MAX_TOKEN_CHARACTERS = 200
const NEWLINE = 0x0a

/** The key of a campaign. Ids that are too long for a key are hashed. */
export const campaignKey = (partition: number, customer: string, id: string): string =>
  `${partition}.${toToken(customer)}.${idToken(id)}`

function idToken(id: string): string {
  const token = toToken(id)
  if (token !== '' && token.length <= MAX_TOKEN_CHARACTERS) return token
  // No token of a text has an s after the =.
  return `=sha256-${createHash('sha256').update(id).digest('hex')}`
}

/**
 * A line of JSON with what is not in the summary, a line with the summary, then the content as it is.
 *
 * @param object The name of the content in the object store. Default: it is in the value.
 */
export function encodeCampaign(
  { customer, summary, content }: CampaignRow,
  object?: string,
): Buffer {
  const head: Head = { customer, object, contentBytes: content.length }
  const lines = Buffer.from(`${JSON.stringify(head)}\n${summary}\n`)
  return object === undefined ? Buffer.concat([lines, content]) : lines
}

/** @throws SyntaxError if the data is not that of a campaign. */
export function decodeCampaign(data: Uint8Array): CampaignEntry {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const end = bytes.indexOf(NEWLINE)
  const summaryEnd = bytes.indexOf(NEWLINE, end + 1)
  if (summaryEnd < 0) throw new SyntaxError('The value is not that of a campaign')
  const { customer, object, contentBytes }: Head = JSON.parse(bytes.toString('utf8', 0, end))
  return {
    ...{ customer, object, contentBytes },
    summary: bytes.toString('utf8', end + 1, summaryEnd),
    content: bytes.subarray(summaryEnd + 1),
  }
}
