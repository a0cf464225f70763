import type { FetchedAnswer } from './fetch.ts'
import { orAborted, type Signal } from './signal.ts'

/** The most that is read of a 2xx answer, bytes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** The most that is read of any other answer, bytes. */
const MAX_ERROR_BYTES = 64 * 1024

/** An answer whose body has been read or cancelled, so that its socket is free again. */
export type Answer = {
  readonly status: number
  readonly isSuccess: boolean
  /** Empty if there is none. */
  readonly contentType: string
  readonly retryAfter: string | null
  /** The target of a redirect, as it was sent. */
  readonly location: string | null
  /** Without a byte order mark. */
  readonly text: string
  /** False if the body is longer than the bound, or if the body of an error broke off. */
  readonly isWhole: boolean
}

/** Reads an answer up to its bound. Rejects if the body of a 2xx breaks off; an error is used without its body. */
export async function readAnswer(response: FetchedAnswer, signal: Signal): Promise<Answer> {
  const { status, headers, body } = response
  const isSuccess = status >= 200 && status < 300
  let left = isSuccess ? MAX_ANSWER_BYTES : MAX_ERROR_BYTES
  let text = ''
  try {
    if (body) {
      const reader = body.getReader()
      const decoder = new TextDecoder()
      try {
        while (left >= 0) {
          const { done, value } = await orAborted(reader.read(), signal)
          if (done || !value) break
          text += decoder.decode(value.subarray(0, left), { stream: true })
          left -= value.length
        }
      } finally {
        // Not awaited, because a stream may take long to end.
        reader.cancel().catch(() => {})
      }
      text += decoder.decode()
    } else {
      // Some runtimes have no streams, and an answer such as 204 has none.
      const all = await orAborted(response.text(), signal)
      text = all.slice(0, left).replace(/^\ufeff/, '')
      left -= all.length
    }
  } catch (error) {
    if (isSuccess) throw error
    left = -1
  }
  return {
    status,
    isSuccess,
    contentType: headers.get('content-type') ?? '',
    retryAfter: headers.get('retry-after'),
    location: headers.get('location'),
    text,
    isWhole: left >= 0,
  }
}
