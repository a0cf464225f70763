import ipaddr from 'ipaddr.js'
import { readAddress } from '../http/address.ts'

/** The most addresses and networks that a customer may ignore. The address of every event is compared with each. */
export const MAX_IGNORED = 100
/** The shortest prefixes, bits. A larger network is a mistake that would drop the visitors of a country. */
const MIN_PREFIX = { ipv4: 8, ipv6: 16 }
/** Bits before an IPv4 address inside IPv6, `::ffff:203.0.113.7`. */
const MAPPED_BITS = 96

/** An entry of a customer's list, or why a text is not one. */
export type ReadIgnored =
  | { readonly ok: true; readonly entry: string }
  | { readonly ok: false; readonly message: string }

/**
 * Reads an address (`203.0.113.7`, `2001:db8::7`) or a network (`203.0.113.0/24`). IPv4 inside IPv6 becomes IPv4, and
 * the address of a network becomes the first one of it.
 */
export function readIgnored(text: string): ReadIgnored {
  const [, typed = '', bits] = /^([\d.]+|[\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? []
  if (!typed.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(typed)) return NO_ADDRESS
  if (!ipaddr.isValid(typed)) return NO_ADDRESS
  const address = ipaddr.process(typed)
  const kind = address.kind()
  if (bits === undefined) return { ok: true, entry: address.toString() }
  const prefix = Number(bits) - (kind === 'ipv4' && typed.includes(':') ? MAPPED_BITS : 0)
  const most = kind === 'ipv4' ? 32 : 128
  if (prefix < MIN_PREFIX[kind] || prefix > most)
    return wrong(`a network of /${MIN_PREFIX[kind]} to /${most}`)
  const parser = kind === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const first = parser.networkAddressFromCIDR(`${address}/${prefix}`)
  return { ok: true, entry: `${first}/${prefix}` }
}

const wrong = (expected: string): ReadIgnored => ({ ok: false, message: `expected ${expected}` })
const NO_ADDRESS = wrong(
  'an address or a network, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/48',
)

const ignoresNone = () => false

/**
 * Returns a function that checks whether an address is in the list, or in one of its networks.
 *
 * @param entries Results of `readIgnored`.
 */
export function createIsIgnored(entries: readonly string[]): (address: string) => boolean {
  if (entries.length === 0) return ignoresNone
  const networks = entries.map((entry) => {
    const [text = '', bits] = entry.split('/')
    const address = ipaddr.parse(text)
    return [address, Number(bits ?? (address.kind() === 'ipv4' ? 32 : 128))] as const
  })
  return (text) => {
    const bare = readAddress(text)
    if (bare === undefined) return false
    const address = ipaddr.parse(bare)
    return networks.some(
      ([network, bits]) => address.kind() === network.kind() && address.match(network, bits),
    )
  }
}
