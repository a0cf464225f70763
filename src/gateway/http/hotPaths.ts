import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Answer } from './answers.ts'
import type { RequestEnv } from './requestEnv.ts'
import { createHead, type RequestHead } from './requestHead.ts'

/** The handlers of the paths that nearly all requests are for. They may throw. */
export type HotPaths = {
  readonly '/t/r': Collect
  readonly '/t/batch': Collect
  readonly '/t/j/:key': (
    request: RequestHead,
    peer: string,
    trackingKey: string,
  ) => Answer | Promise<Answer>
  /** The answer after a handler has thrown. */
  answerError(error: unknown, request: RequestHead, path: HotPath, isAborted: boolean): Answer
}
type Collect = (
  request: RequestHead,
  peer: string,
  context: { readonly env: RequestEnv },
) => Answer | Promise<Answer>
type HotPath = '/t/r' | '/t/batch' | '/t/j/:key'

/**
 * The hot paths as pages spell them, without a character that the parser of URLs changes in a query
 * (https://url.spec.whatwg.org/#query-percent-encode-set).
 */
const TARGET = /^\/t\/(?:r|batch|j\/([\w-]+))(?:\?[!$%&(-;=?-~]*)?$/
/** A Host that the parser of URLs does not change. It may be invalid, such as `xn--`. */
const HOST = /^[a-z\d._-]+(?::[1-9]\d{3,4})?$/
/** A gateway has few names. */
const MAX_CACHED_HOSTS = 100
/** How long a client may continue to send a body that is not read, ms. Then its connection is closed. */
const UNREAD_BODY_MS = 500

/**
 * Answers POST /t/r, POST /t/batch and GET /t/j/{key} without the objects of the Fetch API, which cost more than the
 * rest of such a request. Unusual spellings of them (another method, an absolute address, a percent-encoded path, a
 * Host in capitals) are left to the general routes, which have the same handlers.
 *
 * @param find The handlers. Undefined while the gateway has none.
 * @returns Answers a request, or returns false and leaves it.
 */
export function createHotPaths(
  find: () => HotPaths | undefined,
  toEnv: (head: RequestHead, incoming: IncomingMessage, outgoing: ServerResponse) => RequestEnv,
): (incoming: IncomingMessage, outgoing: ServerResponse) => boolean {
  const isHost = createIsHost()

  return (incoming, outgoing) => {
    const { url = '', method } = incoming
    const found = TARGET.exec(url)
    if (!found) return false
    const [, key] = found
    const host = incoming.headers.host ?? ''
    const hotPaths = find()
    if (!hotPaths || method !== (key ? 'GET' : 'POST') || !isHost(host)) return false

    const head = createHead(incoming, host)
    const peer = incoming.socket.remoteAddress ?? ''
    const path = url[3] === 'r' ? '/t/r' : '/t/batch'
    const succeed = (answer: Answer) => write(answer, incoming, outgoing)
    const fail = (error: unknown) => {
      const isAborted = outgoing.destroyed || (incoming.destroyed && !incoming.complete)
      if (outgoing.headersSent) outgoing.destroy()
      else succeed(hotPaths.answerError(error, head, key ? '/t/j/:key' : path, isAborted))
    }
    try {
      const answer = key
        ? hotPaths['/t/j/:key'](head, peer, key)
        : hotPaths[path](head, peer, { env: toEnv(head, incoming, outgoing) })
      if (answer instanceof Promise) answer.then(succeed).catch(fail)
      else succeed(answer)
    } catch (error) {
      fail(error)
    }
    return true
  }
}

function createIsHost(): (host: string) => boolean {
  const cache = new LRUCache<string, boolean>({ max: MAX_CACHED_HOSTS })
  return (host) => {
    const cached = cache.get(host)
    if (cached !== undefined) return cached
    const isHost = HOST.test(host) && URL.canParse(`http://${host}/`)
    cache.set(host, isHost)
    return isHost
  }
}

function write(
  { status, headers, body }: Answer,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): void {
  // At the time of an answer to GET, node has not yet seen the end of the request.
  if (incoming.method === 'POST' && !incoming.complete)
    outgoing.once('finish', () => closeUnread(incoming))
  const isComplete = body === null || 'content-length' in headers
  const all = isComplete ? headers : { ...headers, 'content-length': Buffer.byteLength(body) }
  outgoing.writeHead(status, all).end(body)
}

/** Closes a connection unless the rest of its body arrives soon, which node discards. */
function closeUnread(incoming: IncomingMessage): void {
  if (incoming.complete) return
  const late = setTimeout(() => incoming.socket.destroySoon(), UNREAD_BODY_MS)
  incoming.once('close', () => clearTimeout(late))
}
