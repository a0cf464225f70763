import type { RefusedEvent } from '../http/refusedEvent.ts'

/** Lines of a customer and a reason in a second. What is above is only counted. */
export const LINES_EACH = 3
/** Lines in a second, all customers and reasons together. */
export const LINES_OF_ALL = 50
/** Counts of a second that have a line of their own, the largest first. The rest of them share one. */
const COUNT_LINES = 20
const WINDOW_MS = 1_000

/** Refusals without a line: of one reason and customer, or of several if there is no reason. */
export type LeftOut = {
  readonly customer?: string | undefined
  readonly reason?: string
  readonly leftOut: number
}

type Sample = {
  readonly customer: string | undefined
  readonly reason: string
  lines: number
  leftOut: number
}

/**
 * Lines of the log about refused events: one each, or a sample and a count while there are many. A flood of refusals
 * costs two look-ups each and at most 71 lines a second.
 *
 * @returns `add` takes a refusal. `close` writes the counts that are open.
 */
export function createRefusalLines(
  write: (event: RefusedEvent) => void,
  writeCount: (count: LeftOut) => void,
) {
  let samples = new Map<string, Map<string | undefined, Sample>>()
  let lines = 0
  let timer: NodeJS.Timeout | undefined

  function add(event: RefusedEvent): void {
    // The customers of a second are no more than its events, and the map lives for a second.
    timer ??= setTimeout(close, WINDOW_MS).unref()
    const sample = sampleOf(event)
    if (sample.lines >= LINES_EACH || lines >= LINES_OF_ALL) {
      sample.leftOut++
      return
    }
    sample.lines++
    lines++
    write(event)
  }

  function sampleOf({ reason, customer }: RefusedEvent): Sample {
    let ofReason = samples.get(reason)
    if (!ofReason) {
      ofReason = new Map()
      samples.set(reason, ofReason)
    }
    let sample = ofReason.get(customer)
    if (!sample) {
      sample = { customer, reason, lines: 0, leftOut: 0 }
      ofReason.set(customer, sample)
    }
    return sample
  }

  function close(): void {
    clearTimeout(timer)
    timer = undefined
    const counts = [...samples.values()]
      .flatMap((ofReason) => [...ofReason.values()])
      .filter(({ leftOut }) => leftOut > 0)
      .sort((a, b) => b.leftOut - a.leftOut)
    samples = new Map()
    lines = 0
    for (const { customer, reason, leftOut } of counts.slice(0, COUNT_LINES))
      writeCount({ customer, reason, leftOut })
    const rest = counts.slice(COUNT_LINES).reduce((sum, { leftOut }) => sum + leftOut, 0)
    if (rest > 0) writeCount({ leftOut: rest })
  }

  return { add, close }
}
