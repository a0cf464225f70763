import type { Encoder } from './format.ts'
import type { ExportRecord } from './record.ts'
import type { Sink } from './sink.ts'
import type { Placed, Source } from './source.ts'
import type { ExportState, Progress } from './state.ts'

/** Which events of the customer are exported. */
export type Selection = {
  /** Events that arrived at or after this time, ms since 1970. Default: all. */
  readonly from?: number | undefined
  /** Events that arrived before this time, ms since 1970. Default: all. */
  readonly to?: number | undefined
  /** Default: all. */
  readonly operations?: readonly string[] | undefined
}

type Export = {
  readonly source: Source
  readonly encoder: Encoder
  readonly state: ExportState
  readonly sink: Sink
  readonly selection: Selection
  /** Ends the export after the group that is being collected. */
  readonly signal: AbortSignal
  /** Called after each group with the number of events so far. */
  readonly onProgress?: (events: number) => void
  /** Default GROUP_RECORDS. */
  readonly groupRecords?: number
}

export type Exported = { readonly events: number; readonly isComplete: boolean }

/**
 * Records of a group, which is written at once: a row group of Parquet. A group also ends with the record that reaches
 * this many characters of payloads, so that it fits into memory.
 */
const GROUP_RECORDS = 10_000
const GROUP_CHARACTERS = 2 ** 23

/**
 * The log is in the order of arrival by the clocks of all gateways, which are assumed to differ by less than this, ms.
 * Events near the bounds of a time are found although their neighbours have a later or earlier one.
 */
const CLOCKS_MS = 3_600_000

/**
 * Exports events in groups, and saves the state after each. What a group has depends only on the events, not on where an
 * earlier process was interrupted, so that the output is the same.
 *
 * @returns When everything up to the newest event of the beginning is written, or the signal has ended it.
 */
export async function runExport(given: Export): Promise<Exported> {
  const { source, encoder, state, sink, selection, signal, onProgress } = given
  const { groupRecords = GROUP_RECORDS } = given
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, operations } = selection
  let progress = state.progress() ?? (await begin())
  const group: ExportRecord[] = []
  let characters = 0

  async function begin(): Promise<Progress> {
    const bytes = encoder.begin()
    await sink.write(bytes)
    sink.sync()
    for await (const id of source.removed()) state.note(id)
    const upTo = await source.end()
    const position = selection.from === undefined ? 0 : await source.before(from - CLOCKS_MS)
    const mark = await source.mark(position)
    const begun = { position, mark, upTo, bytes: bytes.length, events: 0 }
    state.save(begun)
    return begun
  }

  const isSelected = ({ receivedAt, operation }: ExportRecord) =>
    receivedAt >= from &&
    receivedAt < to &&
    (operations === undefined || operations.includes(operation))

  function collect({ record }: Placed): void {
    if (!isSelected(record) || (source.mayRepeat && !state.note(record.id))) return
    group.push(record)
    characters += record.payload.length
  }

  async function write(position: number): Promise<void> {
    const { bytes, footer } = encoder.encode(group)
    await sink.write(bytes)
    sink.sync()
    progress = {
      ...{ position, mark: await source.mark(position), upTo: progress.upTo },
      bytes: progress.bytes + bytes.length,
      events: progress.events + group.length,
    }
    state.save(progress, footer)
    group.length = 0
    characters = 0
    onProgress?.(progress.events)
  }

  async function readAll(): Promise<boolean> {
    for await (const { records } of source.read(progress.position, progress.upTo)) {
      for (const placed of records) {
        if (placed.record.receivedAt >= to + CLOCKS_MS) return true
        collect(placed)
        if (group.length >= groupRecords || characters >= GROUP_CHARACTERS)
          await write(placed.position)
      }
      if (signal.aborted) return false
    }
    return true
  }

  const isComplete = await readAll()
  if (isComplete) {
    if (group.length > 0) await write(progress.upTo)
    await sink.write(encoder.end())
    sink.sync()
  }
  return { events: progress.events, isComplete }
}
