import { type LookupAddress, lookup as lookupDns } from 'node:dns'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import ipaddr from 'ipaddr.js'
import { readAddress } from '../http/address.ts'
import { version } from '../lib/version.ts'

/** An answer, after redirects. */
export type Fetched = {
  readonly ok: true
  /** The address that was answered. */
  readonly url: string
  readonly status: number
  /** By name in lower case. Several of one name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>
  /** The body, decompressed. */
  readonly body: Buffer
  /** Length of the body as it was sent, bytes. */
  readonly sentBytes: number
  /** Whether the body was longer than it may be, and is cut. */
  readonly isCut: boolean
  /** The addresses that redirected, in order. */
  readonly redirects: readonly string[]
}

/** Why there is no answer. */
export type Unfetched = {
  readonly ok: false
  /** The address that was asked last. */
  readonly url: string
  /** `refused`: the policy does not allow the address. `network`: it can not be reached, or does not answer right. */
  readonly reason: 'refused' | 'network'
  /** For people, without a dot at its end. */
  readonly message: string
}

export type FetchInit = {
  /** Default GET. */
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** How many redirects are followed. Default: that of the policy. */
  readonly maxRedirects?: number
}

/** Fetches an http or https address. Never rejects. */
export type FetchPage = (url: string, init?: FetchInit) => Promise<Fetched | Unfetched>

/** What may be fetched, and how much. */
export type FetchPolicy = {
  /** Why an address may not be fetched. Asked for each redirect too. Default: every http and https address may be. */
  readonly refuse?: ((url: URL) => string | undefined) | undefined
  /**
   * Whether a connection to an IP address may be made. It is asked for the address that the connection then uses, so a
   * name that resolves to something else a moment later does not get around it. Default: every address.
   *
   * @param host The host of the URL, as URL.hostname has it.
   */
  readonly allowsAddress?: ((address: string, host: string) => boolean) | undefined
  /** Requests of all calls together, redirects included. Default 40. */
  readonly maxRequests?: number
  /** Redirects of one call. Default 5. */
  readonly maxRedirects?: number
  /** Length of a decompressed body, bytes. What is longer is cut. Default 2 MiB. */
  readonly maxBytes?: number
  /** Time of one call, redirects and body included, ms. Default 15,000. */
  readonly timeoutMs?: number
  /** Time of all calls together from the first one, ms. Default 60,000. */
  readonly totalMs?: number
  /** Finds the addresses of a name. Default: that of Node. */
  readonly lookup?: typeof lookupDns
}

/** The part of IPv6 from which public addresses are given out. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3')

/** Whether an IP address is one of the public internet: not private, link-local, loopback, reserved or a translation. */
export function isPublicAddress(text: string): boolean {
  const address = readAddress(text)
  if (address === undefined) return false
  const parsed = ipaddr.parse(address)
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6))
}

/** A fetch within bounds. They count from its first call, so each check makes its own. */
export function createFetchPage(policy: FetchPolicy = {}): FetchPage {
  const { refuse = () => undefined, allowsAddress = () => true } = policy
  const { maxRequests = 40, maxRedirects = 5, maxBytes = 2 * 2 ** 20 } = policy
  const { timeoutMs = 15_000, totalMs = 60_000, lookup = lookupDns } = policy
  let requests = 0
  let end: number | undefined

  return async function fetchPage(address, init = {}) {
    end ??= performance.now() + totalMs
    const left = Math.min(timeoutMs, end - performance.now())
    // AbortSignal.any holds its signals weakly: one of AbortSignal.timeout may be collected before its time is over.
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), left)
    if (left <= 0) controller.abort()
    try {
      return await follow(address, init, controller.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  async function follow(
    address: string,
    init: FetchInit,
    signal: AbortSignal,
  ): Promise<Fetched | Unfetched> {
    const most = init.maxRedirects ?? maxRedirects
    const redirects: string[] = []
    let url = address
    const fail = (reason: Unfetched['reason'], message: string): Unfetched => ({
      ok: false,
      url,
      reason,
      message,
    })
    for (;;) {
      const target = readHttpAddress(url)
      if (!target) return fail('refused', NOT_HTTP)
      const refused = refuse(target) ?? refuseLiteral(target)
      if (refused) return fail('refused', refused)
      if (requests >= maxRequests) return fail('refused', `More than ${maxRequests} requests`)
      requests++
      try {
        const answer = await ask(target, init, signal)
        const next = most > 0 && redirectOf(answer, target)
        if (!next) return { ok: true, url: target.href, redirects, ...(await read(answer, signal)) }
        answer.destroy()
        redirects.push(target.href)
        if (redirects.length > most) return fail('network', `It redirects more than ${most} times`)
        url = next
      } catch (error) {
        const refusal = error instanceof RefusedAddress
        return fail(refusal ? 'refused' : 'network', explain(error, signal))
      }
    }
  }

  /** An IP address in place of a name, which is not looked up. */
  function refuseLiteral({ hostname }: URL): string | undefined {
    const literal = readAddress(hostname.replace(/^\[|\]$/g, ''))
    return literal === undefined || allowsAddress(literal, hostname)
      ? undefined
      : notPublic(literal)
  }

  function ask(url: URL, init: FetchInit, signal: AbortSignal): Promise<IncomingMessage> {
    const { method = 'GET', headers = {}, body } = init
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
        method,
        agent: false,
        signal,
        lookup: createGuardedLookup(url.hostname),
        headers: {
          'user-agent': `Mozilla/5.0 (compatible; shoptrail/${version}; check)`,
          accept: 'text/html,*/*;q=0.8',
          'accept-language': 'en,*;q=0.5',
          'accept-encoding': 'gzip, br',
          ...(body !== undefined && { 'content-length': `${Buffer.byteLength(body)}` }),
          ...headers,
        },
      })
      request.on('response', resolve)
      request.on('error', reject)
      // Without a listener, Node closes the connection and reports nothing.
      request.on('upgrade', (_, socket) => {
        socket.destroy()
        reject(new Error('It answers 101 instead of a page'))
      })
      request.on('close', () => reject(new Error(REASONS.ECONNRESET)))
      request.end(body)
    })
  }

  /** Looks a name up for one connection. An address that is not allowed fails the connection. */
  function createGuardedLookup(host: string): LookupFunction {
    return (name, options, done) =>
      lookup(name, { ...options, all: true }, (error, found) => {
        const addresses = error ? [] : (found as LookupAddress[])
        const refused = addresses.find(({ address }) => !allowsAddress(address, host))
        const [first] = addresses
        const fault = error ?? (refused && new RefusedAddress(notPublic(refused.address)))
        if (fault || !first) done(fault ?? new Error('The name has no address'), '', 0)
        else if (options.all) done(null, addresses)
        else done(null, first.address, first.family)
      })
  }

  async function read(answer: IncomingMessage, signal: AbortSignal) {
    const { statusCode = 0 } = answer
    let sentBytes = 0
    answer.on('data', (chunk: Buffer) => {
      sentBytes += chunk.length
    })
    const { body, isCut } = await readAtMost(decompress(answer), maxBytes, signal).catch(
      (error) => {
        // That of a connection which was closed in the middle.
        throw error.code === 'ECONNRESET' ? new Error('The answer ended early') : error
      },
    )
    answer.destroy()
    return { status: statusCode, headers: joinHeaders(answer), body, isCut, sentBytes }
  }
}

/** An address that the policy does not allow. */
class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

const NOT_HTTP = 'It is not an http or https address without a user name and a password'

const notPublic = (address: string): string =>
  `It is at ${address}, which is not an address of the public internet`

function readHttpAddress(text: string): URL | undefined {
  try {
    const url = new URL(text)
    return /^https?:$/.test(url.protocol) && !url.username && !url.password ? url : undefined
  } catch {
    return undefined
  }
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): string | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || !headers.location) return undefined
  try {
    return new URL(headers.location, from).href
  } catch {
    return headers.location
  }
}

/** The bytes of a body, decompressed as they come, so that a small body can not become a large one in memory. */
function decompress(answer: IncomingMessage): Readable {
  const { statusCode = 0, headers } = answer
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  const isEmpty = statusCode === 204 || statusCode === 304 || headers['content-length'] === '0'
  if (isEmpty || coding === '' || coding === 'identity') return answer
  if (/^(x-)?gzip$/.test(coding)) return pipe(answer, createGunzip())
  if (coding === 'br') return pipe(answer, createBrotliDecompress())
  answer.destroy()
  throw new Error(`Its content-encoding is ${coding.slice(0, 40)}, which was not asked for`)
}

function pipe(answer: IncomingMessage, decoder: ReturnType<typeof createGunzip>): Readable {
  answer.on('error', (error) => decoder.destroy(error))
  // Without `end`: the answer is closed early if the body is cut.
  answer.on('aborted', () => decoder.destroy(new Error('The answer ended early')))
  return answer.pipe(decoder)
}

async function readAtMost(
  stream: Readable,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly body: Buffer; readonly isCut: boolean }> {
  const onAbort = () => stream.destroy(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer)
      length += (chunk as Buffer).length
      if (length > maxBytes) break
    }
    return { body: Buffer.concat(chunks).subarray(0, maxBytes), isCut: length > maxBytes }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function joinHeaders({ headersDistinct }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]),
  )
}

const NOT_COMPRESSED = 'Its body is not compressed as its content-encoding says'

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'There is no host of this name',
  EAI_AGAIN: 'The name of the host can not be looked up now',
  ECONNREFUSED: 'Nothing listens at this address',
  ECONNRESET: 'The connection was closed without an answer',
  EHOSTUNREACH: 'The host can not be reached',
  ENETUNREACH: 'The host can not be reached',
  ETIMEDOUT: 'The host does not answer',
  HPE_HEADER_OVERFLOW: 'The head of its answer is too large',
  CERT_HAS_EXPIRED: 'Its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'Its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'Its certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'Its certificate comes without the certificates in between',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'Its certificate is of an unknown authority',
  Z_DATA_ERROR: NOT_COMPRESSED,
  Z_BUF_ERROR: 'The answer ended early',
}

function explain(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'It did not answer in time'
  const { code = '', message } = error as NodeJS.ErrnoException
  if (REASONS[code]) return REASONS[code]
  // Of brotli, one for each rule of its format.
  if (code.startsWith('ERR__ERROR')) return NOT_COMPRESSED
  if (code.startsWith('HPE_')) return 'Its answer is not HTTP'
  // Several addresses of a host, each with an error of its own, have a message that is empty.
  const [first] = (error as AggregateError).errors ?? []
  if (first) return explain(first, signal)
  return `${message}${code && !message.includes(code) ? ` (${code})` : ''}`
}
