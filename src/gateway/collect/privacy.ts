import { MAX_URL_CHARACTERS } from '../../contract/fields.ts'
import { MAX_AGENT_CHARACTERS } from '../../contract/index.ts'
import { maskUrl, shortenUrl } from '../../contract/maskUrl.ts'
import type { Customer } from '../customers/customers.ts'
import { keepAddress, shortenAddress } from '../customers/keptAddresses.ts'
import { makeDayDid } from './daySalt.ts'

/**
 * The most that masking the URLs of a batch may cost (`areTooManyParameters`): above it 413, and the page splits the
 * batch. This much takes 9 ms at worst.
 */
export const MAX_BATCH_PARAMETERS = 20_000
/** The most for one URL, more than any page has. This much takes 1.6 ms at worst. */
export const MAX_URL_PARAMETERS = 3_000
/** A percent-encoded parameter costs as much as this many others: it is decoded up to five times. */
const ENCODED_COST = 9

/** The fields of a payload as they were sent, not checked yet. */
export type Given = Record<string, unknown>

/** Keeps the address of a payload as its customer wants it. What is no text is left to the contract, which refuses it. */
export function limitAddress(given: Given, { addresses }: Pick<Customer, 'addresses'>): void {
  const { remote_addr } = given
  if (typeof remote_addr === 'string') given.remote_addr = keepAddress(remote_addr, addresses)
}

/**
 * Makes a payload without consent one that nobody can be found by: the day's hash as `did`, and the short address.
 *
 * The hash groups visitors of one network with equal browsers. So an event that names an e-mail address gets a hash of
 * its own: otherwise the visits of all of them would belong to that address.
 *
 * @param given Complete but for `did`. Its address is whole.
 * @param id The event's id.
 */
export function makeCookieless(given: Given, customerId: string, id: string, salt: Buffer): void {
  const address = shortenAddress(`${given.remote_addr}`)
  const agent = `${given.http_user_agent}`.slice(0, MAX_AGENT_CHARACTERS)
  const isNamed = Boolean(given.email_address ?? given.email)
  given.did = makeDayDid(salt, [customerId, address, agent, ...(isNamed ? [id] : [])])
  given.remote_addr = address
}

/**
 * Masks secrets and e-mail addresses in a valid URL, as the script does. The parser of URLs removes tabs and line breaks
 * wherever they are, so they must not hide a name.
 *
 * @param names Further names, as `namesToMask` returns them.
 */
export const maskArrived = (url: string, names: ReadonlySet<string>): string =>
  shortenUrl(maskUrl(limitParameters(url.replace(/[\t\n\r]/g, '')), names))

/** A URL with more parameters than that loses its fragment, then its query, like one that is too long. */
function limitParameters(url: string): string {
  // Too short for so many, so they need not be counted: the shortest encoded parameter has two characters.
  if (url.length * ENCODED_COST <= 2 * MAX_URL_PARAMETERS) return url
  // The last two are for parameters of the path.
  for (const mark of '#?;&') {
    if (maskingCostOf(url) <= MAX_URL_PARAMETERS) break
    ;[url = ''] = url.split(mark, 1)
  }
  return url
}

/** A parameter, and whether it is encoded. */
const PARAMETER = /[?&#;]([^?&#;%]*%)?/g

/**
 * What it costs to mask a URL: the number of its parameters, of which encoded ones count as ENCODED_COST. It is counted
 * up to MAX_URL_PARAMETERS. 0 for a URL that is too long, which the contract refuses.
 */
export function maskingCostOf(url: unknown): number {
  // A character is at most two code units.
  if (typeof url !== 'string' || url.length > 2 * MAX_URL_CHARACTERS) return 0
  let cost = 0
  for (const [, encoded] of url.matchAll(PARAMETER)) {
    cost += encoded === undefined ? 1 : ENCODED_COST
    if (cost > MAX_URL_PARAMETERS) break
  }
  return cost
}

/** What it can cost at most to mask a URL of its length. */
const mostCostOf = (url: unknown): number => {
  if (typeof url !== 'string') return 0
  return url.includes('%') ? (url.length * ENCODED_COST) / 2 : url.length
}

/** Whether masking the URLs of a batch would take too long. */
export function areTooManyParameters(urls: readonly unknown[]): boolean {
  // Too short for so many, as most batches are, so they need not be counted.
  const most = urls.reduce<number>((sum, url) => sum + mostCostOf(url), 0)
  if (most <= MAX_BATCH_PARAMETERS) return false
  let cost = 0
  return urls.some((url) => {
    cost += maskingCostOf(url)
    return cost > MAX_BATCH_PARAMETERS
  })
}
