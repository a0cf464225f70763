import type { ExportRecord } from './record.ts'

/** The bytes of a group of records. */
export type Group = {
  readonly bytes: Uint8Array
  /** What the end of the file needs to know of the group. Undefined if that is nothing. */
  readonly footer?: Uint8Array
}

/** What an earlier process has written of a file. */
export type Written = {
  /** Size of the file, bytes. */
  readonly bytes: number
  /** The footers of its groups, in order. */
  readonly footers: readonly Uint8Array[]
}

/** Makes the bytes of one file. The same records in the same groups make the same bytes. */
export type Encoder = {
  /** The beginning of the file. */
  begin(): Uint8Array
  /** @param records From 1. */
  encode(records: readonly ExportRecord[]): Group
  /** The end of the file. */
  end(): Uint8Array
}

/** @param written Default: nothing. Otherwise the encoder continues the file, and `begin` is not called. */
export type CreateEncoder = (written?: Written) => Encoder

const NOTHING = new Uint8Array()

/** An encoder of a text format, which has no end and needs to know nothing of what was written. */
export const textEncoder =
  (head: string, lineOf: (record: ExportRecord) => string): CreateEncoder =>
  () => ({
    begin: () => Buffer.from(head),
    encode: (records) => ({ bytes: Buffer.from(records.map(lineOf).join('')) }),
    end: () => NOTHING,
  })
