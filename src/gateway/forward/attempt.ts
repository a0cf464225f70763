import { MAX_REASON_CHARACTERS } from './forwarding.ts'
import type { Delivery, ForwardEvent, Sender } from './kind.ts'

/** The longest that an attempt may take, ms. */
export const ATTEMPT_MS = 30_000
/** How much longer a sender may take that is told to end, ms. Then it is not waited for. */
const GRACE_MS = 2_000

/**
 * Sends events once. Never rejects, and ends in time whatever the sender does.
 *
 * @param signal Ends the attempt. Its outcome is then unknown.
 * @returns One result for each event, in order, with bounded reasons.
 */
export async function attempt(
  sender: Pick<Sender, 'send'>,
  events: readonly ForwardEvent[],
  signal: AbortSignal,
  attemptMs = ATTEMPT_MS,
): Promise<readonly Delivery[]> {
  const failed = (reason: string): readonly Delivery[] =>
    events.map(() => ({ status: 'failed', reason }))
  const controller = new AbortController()
  const abort = () => controller.abort()
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const timer = setTimeout(abort, attemptMs)
  let graceTimer: NodeJS.Timeout | undefined
  const ended = new Promise<readonly Delivery[]>((resolve) => {
    const end = () =>
      resolve(failed(signal.aborted ? 'It was interrupted' : `It took more than ${attemptMs} ms`))
    const endSoon = () => {
      graceTimer = setTimeout(end, GRACE_MS)
    }
    if (controller.signal.aborted) endSoon()
    else controller.signal.addEventListener('abort', endSoon)
  })
  try {
    const deliveries = await Promise.race([send(sender, events, controller.signal), ended])
    return deliveries.length === events.length
      ? deliveries.map(boundReason)
      : failed('It gave no result for some events')
  } catch (error) {
    return failed(boundText(`It failed: ${(error as Error)?.message}`))
  } finally {
    clearTimeout(timer)
    clearTimeout(graceTimer)
    signal.removeEventListener('abort', abort)
  }
}

/** Turns what a sender throws before its first await into a rejection. */
const send = async (
  sender: Pick<Sender, 'send'>,
  events: readonly ForwardEvent[],
  signal: AbortSignal,
): Promise<readonly Delivery[]> => sender.send(events, signal)

const boundReason = (delivery: Delivery): Delivery =>
  delivery.status === 'delivered' ? delivery : { ...delivery, reason: boundText(delivery.reason) }

/** On one line, without characters that a terminal obeys. */
const boundText = (text: string): string => {
  const line = text
    .slice(0, 4 * MAX_REASON_CHARACTERS)
    .replace(/\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return line.length > MAX_REASON_CHARACTERS
    ? `${line.slice(0, MAX_REASON_CHARACTERS - 1).replace(/\p{Cs}$/u, '')}…`
    : line
}
