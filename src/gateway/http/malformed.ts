import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { OPEN_HEADERS } from './answers.ts'
import { MAX_HEADERS } from './limits.ts'
import { MAX_HOST_LENGTH } from './origins.ts'

/** Why a connection is answered without a handler and ended: it has sent no valid request. */
export type Fault = {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const METHODS = 'GET, HEAD, POST, OPTIONS'

const TOO_LARGE =
  'The headers are larger than MAX_HEADER_BYTES of the gateway. They contain all cookies of the page'

/** The gateway is not a proxy. */
export const CONNECT_FAULT: Fault = {
  status: 405,
  message: `Expected one of ${METHODS}`,
  headers: { allow: METHODS },
}

/** The fault that an error of node's HTTP parser stands for. */
export function faultOf({ code }: NodeJS.ErrnoException): Fault {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, message: 'The request took too long to arrive' }
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, message: TOO_LARGE }
  return { status: 400, message: 'This is not an HTTP request' }
}

/**
 * The fault of a head that node's parser accepts but that must not be answered: a proxy in front may have read it
 * differently (RFC 9112, 3.2 and 6.1; RFC 9110, 4.2.4).
 */
export function findFault({ headers, httpVersion, rawHeaders, url }: IncomingMessage) {
  // node leaves out the headers above the limit, so they must not be answered.
  if (rawHeaders.length > 2 * MAX_HEADERS)
    return fault(431, `Expected at most ${MAX_HEADERS} headers`)
  const hosts = countHosts(rawHeaders)
  if (hosts > 1) return fault(400, 'Expected one Host header, received several')
  if (!headers.host && httpVersion !== '1.0') return fault(400, 'Expected a Host header')
  const target = url?.startsWith('/') ? '' : (url ?? '')
  const authority = /^[^:/]*:\/\/([^/?#]*)/.exec(target)?.[1] ?? ''
  if (Math.max(headers.host?.length ?? 0, authority.length) > MAX_HOST_LENGTH)
    return fault(400, `Expected a host of at most ${MAX_HOST_LENGTH} characters`)
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (httpVersion === '1.0') return fault(400, 'HTTP/1.0 has no Transfer-Encoding')
    if (coding.trim().toLowerCase() !== 'chunked')
      return fault(501, 'Expected no Transfer-Encoding but chunked')
  }
  if (url && /^https?:[^?#]*@/i.test(url) && hasUser(url))
    return fault(400, 'Expected an address without user and password')
  return undefined
}

const fault = (status: number, message: string): Fault => ({ status, message })

/** `headers` contains only the first Host, so the raw headers are counted. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

function hasUser(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}

/** The whole HTTP answer. */
export function toText({ status, message, headers }: Fault): string {
  const body = JSON.stringify({ message })
  const all = {
    ...OPEN_HEADERS,
    ...headers,
    connection: 'close',
    'content-length': `${Buffer.byteLength(body)}`,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
