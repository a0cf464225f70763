/*
 * Which scripts and connections a Content-Security-Policy allows (https://www.w3.org/TR/CSP3/): the part of the rules
 * that is about scripts with an address, scripts in the page, and connections.
 */

/** A policy: the directives by name in lower case, each with its values. */
export type Policy = ReadonlyMap<string, readonly string[]>

/** Policies that are read of one text. */
const MAX_POLICIES = 20

/** Reads the value of a header or a meta element, which may have several policies, separated by commas. */
export const readPolicies = (text: string): readonly Policy[] =>
  text
    .split(',', MAX_POLICIES)
    .map(readPolicy)
    .filter((policy) => policy.size > 0)

function readPolicy(text: string): Policy {
  const policy = new Map<string, readonly string[]>()
  for (const part of text.split(';')) {
    const [name = '', ...values] = part.trim().split(/[\t\n\f\r ]+/)
    const directive = name.toLowerCase()
    // The first of two directives with one name counts.
    if (directive && !policy.has(directive)) policy.set(directive, values)
  }
  return policy
}

/** A script with an address that a page wants to load. */
export type ScriptRequest = {
  readonly url: string
  readonly nonce?: string | undefined
  /** The attribute `integrity`. */
  readonly integrity?: string | undefined
  /** Whether it stands in the HTML. Otherwise another script loads it. */
  readonly isInHtml: boolean
}

/** The directive of a policy that decides about scripts, and its values. Undefined if none does. */
export const scriptDirective = (policy: Policy) =>
  findDirective(policy, ['script-src-elem', 'script-src', 'default-src'])

/** The same for connections. */
export const connectDirective = (policy: Policy) =>
  findDirective(policy, ['connect-src', 'default-src'])

function findDirective(policy: Policy, names: readonly string[]) {
  for (const name of names) {
    const values = policy.get(name)
    if (values) return { name, values }
  }
  return undefined
}

/**
 * Whether a policy allows a script with an address.
 *
 * @param page Address of the page.
 */
export function allowsScript(policy: Policy, script: ScriptRequest, page: string): boolean {
  const directive = scriptDirective(policy)
  if (!directive) return true
  const { values } = directive
  const { url, nonce, integrity, isInHtml } = script
  if (nonce && values.includes(`'nonce-${nonce}'`)) return true
  if (hasAllHashes(values, integrity)) return true
  if (hasKeyword(values, "'strict-dynamic'")) return !isInHtml
  return allowsUrl(values, url, page)
}

/** Whether a policy allows a connection. */
export function allowsConnection(policy: Policy, url: string, page: string): boolean {
  const directive = connectDirective(policy)
  return !directive || allowsUrl(directive.values, url, page)
}

/**
 * Whether a policy allows a script whose text is in the page.
 *
 * @param hash Its hash as a source, without quotes: `sha256-…`.
 */
export function allowsInline(policy: Policy, hash: string, nonce?: string): boolean {
  const directive = scriptDirective(policy)
  if (!directive) return true
  const { values } = directive
  if (nonce && values.includes(`'nonce-${nonce}'`)) return true
  if (values.some((value) => sameHash(value, hash))) return true
  const isStrict = values.some((value) =>
    /^'(nonce-|sha(256|384|512)-|strict-dynamic')/i.test(value),
  )
  return !isStrict && hasKeyword(values, "'unsafe-inline'")
}

const hasKeyword = (values: readonly string[], keyword: string): boolean =>
  values.some((value) => value.toLowerCase() === keyword)

/** Whether each hash of an integrity attribute is one of the policy. */
function hasAllHashes(values: readonly string[], integrity = ''): boolean {
  const hashes = integrity.split(/\s+/).filter((hash) => /^sha(256|384|512)-/i.test(hash))
  return (
    hashes.length > 0 &&
    hashes.every((hash) => values.some((value) => sameHash(value, hash.split('?', 1)[0] ?? '')))
  )
}

/** A hash may be written in base64 or in base64url. */
function sameHash(value: string, hash: string): boolean {
  const [, inner] = /^'(sha(?:256|384|512)-.+)'$/i.exec(value) ?? []
  const normal = (text: string) => {
    const [algorithm = '', ...rest] = text.split('-')
    return `${algorithm.toLowerCase()}-${rest.join('-').replaceAll('-', '+').replaceAll('_', '/')}`
  }
  return inner !== undefined && normal(inner) === normal(hash)
}

/** Whether one of the values of a directive matches an address, without redirects. */
function allowsUrl(values: readonly string[], address: string, page: string): boolean {
  const url = new URL(address)
  const self = new URL(page)
  return values.some((value) => matchesSource(value, url, self))
}

const SCHEME_SOURCE = /^([a-z][a-z\d+.-]*):$/i
/** Browsers ignore a query in it. */
const HOST_SOURCE =
  /^(?:([a-z][a-z\d+.-]*):\/\/)?(\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])(?::(\d+|\*))?(\/[^?#]*)?([?#].*)?$/i

function matchesSource(value: string, url: URL, self: URL): boolean {
  if (value === '*') return /^(https?|wss?):$/.test(url.protocol) || url.protocol === self.protocol
  const [, scheme] = SCHEME_SOURCE.exec(value) ?? []
  if (scheme) return matchesScheme(`${scheme.toLowerCase()}:`, url.protocol)
  if (value.toLowerCase() === "'self'") return matchesSelf(url, self)
  const [, hostScheme, host, port, path] = HOST_SOURCE.exec(value) ?? []
  if (!host) return false
  const needed = hostScheme ? `${hostScheme.toLowerCase()}:` : self.protocol
  return (
    matchesScheme(needed, url.protocol) &&
    matchesHost(host.toLowerCase(), url.hostname) &&
    matchesPort(port, url) &&
    matchesPath(path, url.pathname)
  )
}

/**
 * A policy for http allows https too, since pages are moved to it. One for ws would allow http by the specification;
 * Chromium forbids it.
 */
const matchesScheme = (needed: string, scheme: string): boolean =>
  needed === scheme ||
  (needed === 'http:' && scheme === 'https:') ||
  (needed === 'ws:' && scheme === 'wss:')

const matchesHost = (pattern: string, host: string): boolean => {
  if (pattern === '*') return true
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : pattern === host
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'ws:': '80',
  'wss:': '443',
}
const portOf = ({ port, protocol }: URL): string => port || (DEFAULT_PORTS[protocol] ?? '')

function matchesPort(port: string | undefined, url: URL): boolean {
  if (port === '*') return true
  return port === undefined ? url.port === '' : portOf(url) === `${Number(port)}`
}

/** A path that ends with a slash allows everything below it, another one only itself. */
function matchesPath(pattern: string | undefined, path: string): boolean {
  if (!pattern) return true
  const wanted = pattern.split('/').map(decode)
  const parts = path.split('/').map(decode)
  if (wanted.at(-1) !== '') return wanted.length === parts.length && isPrefix(wanted, parts)
  return wanted.length <= parts.length && isPrefix(wanted.slice(0, -1), parts)
}

const isPrefix = (wanted: readonly string[], parts: readonly string[]): boolean =>
  wanted.every((part, i) => part === parts[i])

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function matchesSelf(url: URL, self: URL): boolean {
  if (url.origin === self.origin && url.origin !== 'null') return true
  const bothDefault = url.port === '' && self.port === ''
  return (
    url.hostname === self.hostname &&
    (portOf(url) === portOf(self) || bothDefault) &&
    (/^(https|wss):$/.test(url.protocol) || (self.protocol === 'http:' && url.protocol === 'ws:'))
  )
}
