import { type Answer, orAborted, readAnswer } from './answer.ts'
import { wasNeverConnected } from './connection.ts'
import { onAbort } from './onAbort.ts'
import type { FetchedAnswer, FetchInit, Settings, Signal } from './settings.ts'

/** Redirects that a GET follows. */
const MAX_REDIRECTS = 5

/** One HTTP request of an operation. */
export type ApiRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** JSON. */
  readonly body?: string
}

/** What one try came to. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** A redirect that is not followed; where to, without query, and why not. */
  | {
      readonly kind: 'redirect'
      readonly status: number
      readonly target: string
      readonly why: string
    }
  /** No answer. `wasSent` is false only where the request can not have left. */
  | {
      readonly kind: 'none'
      readonly why: 'timeout' | 'aborted' | 'network'
      readonly cause: unknown
      readonly wasSent: boolean
    }

/**
 * One try: sends a request, follows the redirects that it may, reads the answer. Never rejects, and has
 * ended after `timeoutMs`, whatever the fetch does.
 */
export async function attempt(
  request: ApiRequest,
  { fetch, clock }: Settings,
  timeoutMs: number,
  signal: Signal | undefined,
): Promise<Outcome> {
  const controller = new AbortController()
  let why: 'timeout' | 'aborted' | 'network' = 'network'
  const stop = (reason: 'timeout' | 'aborted', cause: unknown) => {
    if (why !== 'network') return
    why = reason
    controller.abort(cause)
  }
  const timer = clock.setTimeout(() => stop('timeout', timeoutError(timeoutMs)), timeoutMs)
  const undo = onAbort(signal, () => stop('aborted', signal?.reason))
  try {
    return await follow(request, fetch, controller.signal as Signal)
  } catch (cause) {
    return { kind: 'none', why, cause, wasSent: why !== 'network' || !wasNeverConnected(cause) }
  } finally {
    clock.clearTimeout(timer)
    undo()
  }
}

function timeoutError(timeoutMs: number): Error {
  const error = new Error(`No answer within ${timeoutMs} ms`)
  error.name = 'TimeoutError'
  return error
}

async function follow(
  { method, url, body }: ApiRequest,
  fetch: Settings['fetch'],
  signal: Signal,
): Promise<Outcome> {
  const init: FetchInit = {
    method,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    redirect: 'manual',
    signal,
  }
  let from = url
  for (let redirects = 0; ; redirects++) {
    // A fetch that was given may not listen.
    if (signal.aborted) throw signal.reason
    const response = await orAborted(fetch(from, init), signal)
    const strayed = findStrayed(response, method, from)
    // Read in any case: an unread body keeps its socket.
    const answer = await readAnswer(response, signal)
    if (strayed) return strayed
    if (!isRedirect(answer)) return { kind: 'answer', answer }
    const { status, location } = answer
    const next = resolve(location, from)
    const why = whyNotFollowed(method, from, next, redirects)
    if (!next || why) return { kind: 'redirect', status, target: showTarget(next, location), why }
    from = next.href
  }
}

/** A redirect that the runtime hides, or that a fetch which was given has followed by itself. */
function findStrayed(
  { type, redirected, url = '', status }: FetchedAnswer,
  method: string,
  from: string,
): Outcome | undefined {
  if (type === 'opaqueredirect')
    return { kind: 'redirect', status: 0, target: '', why: 'this runtime does not tell where to' }
  if (!redirected) return undefined
  const target = resolve(url, from)
  if (method === 'GET' && target?.origin === new URL(from).origin) return undefined
  return {
    kind: 'redirect',
    status,
    target: showTarget(target, url),
    why: 'fetch followed it by itself',
  }
}

const isRedirect = (answer: Answer): answer is Answer & { readonly location: string } =>
  [301, 302, 303, 307, 308].includes(answer.status) && !!answer.location

function whyNotFollowed(
  method: string,
  from: string,
  next: URL | undefined,
  redirects: number,
): string {
  if (method !== 'GET') return 'a POST is not sent twice'
  if (!next) return 'that is no address'
  // The origin holds the scheme: from https to http is another one.
  if (next.origin !== new URL(from).origin) return 'keys do not go to another origin'
  if (next.username || next.password) return 'it names a user'
  return redirects < MAX_REDIRECTS ? '' : `those were more than ${MAX_REDIRECTS} redirects`
}

/** Origin and path: a query may hold the address that was asked for, in a spelling that nobody knows. */
function showTarget(target: URL | undefined, location: string): string {
  if (!target) return location.replace(/[?#].*/s, '')
  const { protocol, origin, pathname } = target
  return /^https?:$/.test(protocol) ? origin + pathname : `${protocol}…`
}

function resolve(location: string, from: string): URL | undefined {
  try {
    return new URL(location, from)
  } catch {
    return undefined
  }
}
