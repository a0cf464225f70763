import type { CountBatch, CoverageCount, ProblemCount } from '../problems/problems.ts'

/** Most bytes of the rows of one message. A server takes 1 MiB by default, and a row has at most some 5 kB. */
export const MAX_COUNTS_BYTES = 2 ** 18
/** How far the clock of a gateway may be ahead of the broker's, ms. */
const MAX_AHEAD_MS = 3_600_000

/**
 * Counts as the data of messages, JSON. Each can be added by itself.
 *
 * @returns At least one message: it says that a gateway has run.
 */
export function encodeCounts({ problems, coverage, now }: CountBatch): Buffer[] {
  const messages: Buffer[] = []
  let rows: { problems: ProblemCount[]; coverage: CoverageCount[] } = { problems: [], coverage: [] }
  let bytes = 0

  function finish(): void {
    messages.push(Buffer.from(JSON.stringify({ ...rows, now } satisfies CountBatch)))
    rows = { problems: [], coverage: [] }
    bytes = 0
  }

  function makeRoom(row: object): void {
    const size = Buffer.byteLength(JSON.stringify(row))
    if (bytes > 0 && bytes + size > MAX_COUNTS_BYTES) finish()
    bytes += size
  }

  for (const row of problems) {
    makeRoom(row)
    rows.problems.push(row)
  }
  for (const row of coverage) {
    makeRoom(row)
    rows.coverage.push(row)
  }
  if (bytes > 0 || messages.length === 0) finish()
  return messages
}

/**
 * The counts of a message. The time in it is that of a gateway, and decides what is old and is removed. So one that is
 * far ahead of the broker's is replaced by that.
 *
 * @param storedAt When the broker has stored the message, ms since 1970.
 * @throws SyntaxError if the data is not that of counts.
 */
export function decodeCounts(data: Uint8Array, storedAt: number): CountBatch {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString()
  const { problems, coverage, now }: CountBatch = JSON.parse(text)
  if (
    !areRows(problems, PROBLEM_TEXTS, PROBLEM_NUMBERS) ||
    !problems.every(hasExample) ||
    !areRows(coverage, COVERAGE_TEXTS, COVERAGE_NUMBERS) ||
    typeof now !== 'number'
  )
    throw new SyntaxError('The message is not that of counts')
  return { problems, coverage, now: now > storedAt + MAX_AHEAD_MS ? storedAt : now }
}

const COVERAGE_TEXTS = ['customer', 'operation']
const COVERAGE_NUMBERS = ['slot', 'events', 'first', 'last']
const PROBLEM_TEXTS = ['customer', 'operation', 'reason', 'source', 'path', 'page']
const PROBLEM_NUMBERS = ['day', 'count', 'first', 'last']

/** A row that SQLite refuses would stop the copy of the whole stream. */
const areRows = (rows: unknown, texts: readonly string[], numbers: readonly string[]): boolean =>
  Array.isArray(rows) &&
  rows.every(
    (row) =>
      texts.every((name) => typeof row[name] === 'string') &&
      numbers.every((name) => Number.isSafeInteger(row[name])),
  )

const hasExample = ({ example }: ProblemCount): boolean =>
  typeof example === 'string' || example === null
