import { readRetryAfter } from '../../contract/retryAfter.ts'
import { version } from '../lib/version.ts'

/** The answer of a destination, or why there is none. */
export type Posted =
  | {
      readonly status: number
      /** What `Retry-After` asks for. Undefined without the header. */
      readonly retryAfterMs?: number
      /** The beginning of the body. Empty if it was not asked for. */
      readonly text: string
    }
  /** In a few words, without the address, which may contain a secret. */
  | { readonly status?: never; readonly reason: string }

export type PostInit = {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Ends the request. */
  readonly signal: AbortSignal
  /** How much of the answer's body is returned, bytes. Default 0. */
  readonly maxBytes?: number
}

/** Time from the request to the head of the answer, ms: the Standard Webhooks specification recommends 15 to 30 s. */
export const TIMEOUT_MS = 15_000
/** Time for the body after the head, ms. The status has told what became of the events. */
const BODY_MS = 2_000
/** The most that is read of a body nobody needs, bytes, so that its connection can be used again. */
const MAX_IGNORED_BYTES = 65_536
/** The longest wait that an answer can ask for, ms: a day. */
const MAX_RETRY_AFTER_MS = 86_400_000

/** Sends one POST. Redirects are not followed. Never rejects. */
export async function post(
  { fetch, now }: { readonly fetch: typeof globalThis.fetch; readonly now: () => number },
  url: string,
  { headers, body, signal, maxBytes = 0 }: PostInit,
): Promise<Posted> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  let timer = setTimeout(abort, TIMEOUT_MS)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    const answer = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      body: new Uint8Array(body),
      signal: controller.signal,
      headers: {
        'user-agent': `shoptrail/${version}`,
        // A compressed answer could become large in memory.
        'accept-encoding': 'identity',
        ...headers,
      },
    })
    clearTimeout(timer)
    timer = setTimeout(abort, BODY_MS)
    const text = await read(answer, maxBytes, controller.signal)
    const asked = answer.headers.get('retry-after')
    return {
      status: answer.status,
      text,
      ...(asked !== null && { retryAfterMs: bound(readRetryAfter(asked.trim(), now())) }),
    }
  } catch (error) {
    if (signal.aborted) return { reason: 'The attempt was ended' }
    if (controller.signal.aborted)
      return { reason: `It did not answer within ${TIMEOUT_MS / 1000} seconds` }
    return { reason: `It could not be reached (${codeOf(error)})` }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** Reads a body, so that its connection is free again. A body that breaks off, is too long or too slow is cut. */
async function read({ body }: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  const reader = body?.getReader()
  // The signal of a request does not end each body: not one whose compression is broken.
  const cancel = () => void reader?.cancel().catch(() => {})
  signal.addEventListener('abort', cancel)
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    while (reader && bytes < Math.max(maxBytes, MAX_IGNORED_BYTES)) {
      const { done, value } = await reader.read()
      if (done) return text
      if (bytes < maxBytes)
        text += decoder.decode(value.subarray(0, maxBytes - bytes), { stream: true })
      bytes += value.length
    }
    await reader?.cancel()
    return text
  } catch {
    // The status is known, and it decides.
    return text
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

const bound = (ms: number): number => Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)

/** The code of a failed fetch, such as ECONNREFUSED. Other messages may contain the address. */
function codeOf(error: unknown): string {
  const { code, cause, message }: { code?: unknown; cause?: unknown; message?: unknown } =
    Object(error)
  if (cause) return codeOf(cause)
  // Such as 9 and 6000, which browsers do not use either: https://fetch.spec.whatwg.org/#port-blocking
  if (message === 'bad port') return 'fetch blocks this port'
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'no code'
}
