import type { IncomingMessage } from 'node:http'

/** The head of a request, as handlers read it. A `Request` is one. */
export type RequestHead = {
  readonly method: string
  /** The whole address, such as `http://gateway.example/t/r?k=KEY`. */
  readonly url: string
  readonly headers: RequestHeaders
}

/** Several headers of one name are one text, separated by `, `, as in `Headers`. */
export type RequestHeaders = {
  /** @param name In lower case. */
  get(name: string): string | null
  /** @param name In lower case. */
  has(name: string): boolean
}

/** Headers of which node keeps only the first, among those that handlers read. */
const KEPT_ONCE: ReadonlySet<string> = new Set(['content-type', 'referer', 'user-agent'])

/**
 * The head of a request of node's server, without the objects of a `Request`: making them costs as much as the whole
 * answer of a bare server.
 *
 * @param host A valid Host.
 */
export const createHead = (incoming: IncomingMessage, host: string): RequestHead =>
  new IncomingHead(incoming, host)

/** A class, since closures would be made anew for each request. */
class IncomingHead implements RequestHead, RequestHeaders {
  readonly #incoming: IncomingMessage
  readonly #host: string
  #url: string | undefined

  constructor(incoming: IncomingMessage, host: string) {
    this.#incoming = incoming
    this.#host = host
  }

  get method() {
    return this.#incoming.method ?? ''
  }

  get url() {
    this.#url ??= `http://${this.#host}${this.#incoming.url}`
    return this.#url
  }

  get headers() {
    return this
  }

  get(name: string) {
    if (KEPT_ONCE.has(name)) return readAll(this.#incoming, name)
    const value = this.#incoming.headers[name]
    return typeof value === 'string' ? value : null
  }

  has(name: string) {
    return this.#incoming.headers[name] !== undefined
  }
}

function readAll({ headers, rawHeaders }: IncomingMessage, wanted: string): string | null {
  if (headers[wanted] === undefined) return null
  let all: string | null = null
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === wanted.length && name.toLowerCase() === wanted)
      all = all === null ? (rawHeaders[i + 1] as string) : `${all}, ${rawHeaders[i + 1]}`
  }
  return all
}

/** The length of a head, bytes, without separators. */
export function bytesOfHead({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = url.length
  for (const text of rawHeaders) bytes += text.length
  return bytes
}
