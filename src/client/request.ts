import { type Answer, readAnswer } from './answer.ts'
import type { Fetch, FetchInit } from './fetch.ts'
import { toCause, wasNeverConnected } from './networkError.ts'
import { onAbort, orAborted, type Signal } from './signal.ts'

/** Redirects that a GET follows. */
const MAX_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]

/** The HTTP request of an operation. */
export type ApiRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** JSON. */
  readonly body?: string
}

export const post = (url: string, payload: object): ApiRequest => ({
  method: 'POST',
  url,
  body: JSON.stringify(payload),
})

/** The result of one request. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** A redirect that is not followed: its target without query, and why not. */
  | {
      readonly kind: 'redirect'
      readonly status: number
      readonly target: string
      readonly why: string
    }
  /** No answer. `wasSent` is false only if nothing can have been sent. If `isFinal`, there is no retry. */
  | {
      readonly kind: 'none'
      /** In words, for the message of an error. */
      readonly why: string
      readonly cause: unknown
      readonly wasSent: boolean
      readonly isFinal: boolean
    }

/**
 * Sends a request, follows allowed redirects and reads the answer. Never rejects, and ends after `timeoutMs` even
 * if the fetch ignores its signal.
 */
export async function sendRequest(
  request: ApiRequest,
  fetch: Fetch,
  timeoutMs: number,
  signal: Signal | undefined,
): Promise<Outcome> {
  const controller = new AbortController()
  const timeout = AbortSignal.timeout(timeoutMs)
  const undo = [timeout, signal].map((each) => onAbort(each, () => controller.abort(each?.reason)))
  let wasSent = false
  const send: Fetch = (url, init) => {
    wasSent = true
    return fetch(url, init)
  }
  try {
    return await follow(request, send, controller.signal)
  } catch (error) {
    const none = { kind: 'none', wasSent, isFinal: !!signal?.aborted } as const
    // The reason of a signal comes from the caller or the runtime, so it does not contain the address.
    if (signal?.aborted) return { ...none, why: 'aborted by the caller', cause: signal.reason }
    if (timeout.aborted)
      return { ...none, why: `No answer within ${timeoutMs} ms`, cause: timeout.reason }
    const cause = toCause(error)
    wasSent &&= !wasNeverConnected(error)
    return { ...none, wasSent, why: cause.message || cause.name, cause }
  } finally {
    for (const each of undo) each()
  }
}

async function follow(
  { method, url, body }: ApiRequest,
  fetch: Fetch,
  signal: Signal,
): Promise<Outcome> {
  const json = 'application/json'
  const sent = { method, redirect: 'manual', signal } as const
  const init: FetchInit =
    body === undefined
      ? { ...sent, headers: { accept: json } }
      : { ...sent, headers: { accept: json, 'content-type': json }, body }
  let from = url
  for (let redirects = 0; ; redirects++) {
    // A fetch that was given to createClient may ignore the signal.
    if (signal.aborted) throw signal.reason
    const response = await orAborted(fetch(from, init), signal)
    // Every body is read, because an unread one keeps its socket.
    const answer = await readAnswer(response, signal)
    const { status, location } = answer
    const { type, redirected } = response
    if (!redirected && type !== 'opaqueredirect' && !(location && REDIRECTS.includes(status)))
      return { kind: 'answer', answer }

    const next = resolve(redirected ? response.url : location, from)
    const isHere = method === 'GET' && next?.origin === new URL(from).origin
    if (redirected && isHere) return { kind: 'answer', answer }
    const why = redirected
      ? 'fetch followed it by itself'
      : whyNotFollowed(method, next, isHere, redirects)
    if (!next || why) return { kind: 'redirect', status, target: next ? show(next) : '', why }
    from = next.href
  }
}

/** Empty if the redirect may be followed. */
function whyNotFollowed(
  method: string,
  next: URL | undefined,
  isHere: boolean,
  redirects: number,
): string {
  if (method !== 'GET') return 'a POST is not sent twice'
  if (!next) return 'it has no valid address'
  // An origin includes the scheme, so a redirect from https to http is not followed.
  if (!isHere) return 'keys do not go to another origin'
  if (next.username || next.password) return 'it contains a user'
  return redirects < MAX_REDIRECTS ? '' : `there were more than ${MAX_REDIRECTS} redirects`
}

/** Origin and path. The query is left out, since it may contain the address of the request in any encoding. */
const show = ({ protocol, origin, pathname }: URL): string =>
  /^https?:$/.test(protocol) ? origin + pathname : `${protocol}…`

function resolve(location: string | null | undefined, from: string): URL | undefined {
  try {
    return location ? new URL(location, from) : undefined
  } catch {
    return undefined
  }
}
