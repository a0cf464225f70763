import { onAbort } from './onAbort.ts'
import type { FetchedAnswer, Signal } from './settings.ts'

/** The most that is read of an answer that succeeded, bytes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** The most that is read of any other, bytes. */
export const MAX_ERROR_BYTES = 64 * 1024

/** An answer whose body has been read or cancelled, so that its socket is free again. */
export type Answer = {
  readonly status: number
  /** Empty where there is none. */
  readonly contentType: string
  readonly retryAfter: string | null
  /** Where a redirect points, as it was sent. */
  readonly location: string | null
  /** Without a byte order mark. Of an error whatever came. */
  readonly text: string
  /** False where the body was longer than what is read. */
  readonly isWhole: boolean
}

export const isSuccess = ({ status }: { readonly status: number }): boolean =>
  status >= 200 && status < 300

/**
 * Reads an answer within bounds and cancels what comes above them.
 *
 * Rejects where the body of a success breaks off. That of an error may: its status says enough.
 */
export async function readAnswer(response: FetchedAnswer, signal: Signal): Promise<Answer> {
  const { status, headers } = response
  const head = {
    status,
    contentType: headers.get('content-type') ?? '',
    retryAfter: headers.get('retry-after'),
    location: headers.get('location'),
  }
  if (isSuccess(head)) return { ...head, ...(await readText(response, MAX_ANSWER_BYTES, signal)) }
  const chunks: string[] = []
  try {
    return { ...head, ...(await readText(response, MAX_ERROR_BYTES, signal, chunks)) }
  } catch {
    return { ...head, text: chunks.join(''), isWhole: false }
  }
}

/**
 * @param chunks Gets the text as it comes.
 * @returns At most `maxBytes` of the body as text; UTF-8, as JSON is.
 */
async function readText(
  response: FetchedAnswer,
  maxBytes: number,
  signal: Signal,
  chunks: string[] = [],
): Promise<Pick<Answer, 'text' | 'isWhole'>> {
  // Some runtimes have no streams, and an answer such as 204 has none.
  if (!response.body) {
    const text = await orAborted(response.text(), signal)
    chunks.push(text.slice(0, maxBytes).replace(/^\ufeff/, ''))
    return { text: chunks.join(''), isWhole: text.length <= maxBytes }
  }
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let left = maxBytes
  try {
    for (;;) {
      const { done, value } = await orAborted(reader.read(), signal)
      if (done || !value) break
      chunks.push(decoder.decode(value.subarray(0, left), { stream: true }))
      left -= value.length
      if (left < 0) break
    }
  } finally {
    // Nothing to cancel where all was read. Not awaited: a stream may take its time to end.
    reader.cancel().catch(() => {})
  }
  chunks.push(decoder.decode())
  return { text: chunks.join(''), isWhole: left >= 0 }
}

/** As the promise, but rejects as soon as the signal aborts: a fetch that was given may not listen to it. */
export function orAborted<T>(promise: Promise<T>, signal: Signal): Promise<T> {
  return new Promise((resolve, reject) => {
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        undo()
        end(value)
      }
    promise.then(settle(resolve), settle(reject))
    const undo = onAbort(signal, () => reject(signal.reason))
  })
}
