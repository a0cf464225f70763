import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { readAddress } from '../http/address.ts'

/** How a customer's events keep the visitor's address: as it is, without its last part, or not at all. */
export const ADDRESS_FORMS = ['whole', 'short', 'none'] as const
export type AddressForm = (typeof ADDRESS_FORMS)[number]

/** Stored in place of an address that is not kept. The contract requires an address, and nobody has this one. */
export const NO_ADDRESS = '0.0.0.0'

/** Whether a text is one of the forms. */
export const isAddressForm = (text: unknown): text is AddressForm =>
  ADDRESS_FORMS.some((form) => form === text)

/**
 * The address as the customer's events keep it (docs/decisions.md, "Privacy at the gateway").
 *
 * @param text The visitor's address. Servers may send any text, which is kept only in the form `whole`.
 */
export function keepAddress(text: string, form: AddressForm): string {
  if (form === 'whole') return text
  return form === 'short' ? shortenAddress(text) : NO_ADDRESS
}

/**
 * The network of an address: an IPv4 address without its last 8 bits, an IPv6 address without all but its first 48
 * (40 in 2002::/16, where bits 16 to 48 are an IPv4 address: RFC 3056). NO_ADDRESS if the text is not an address.
 */
export function shortenAddress(text: string): string {
  const address = readAddress(text)
  if (address === undefined) return NO_ADDRESS
  if (isIPv4(address)) return address.replace(/\d+$/, '0')
  const [first = 0, second = 0, third = 0] = ipaddr.IPv6.parse(address).parts
  const kept = [first, second, first === IPV4_IN_IPV6 ? third & 0xff00 : third]
  return new ipaddr.IPv6([...kept, 0, 0, 0, 0, 0]).toString()
}

/** The first 16 bits of 6to4 addresses. */
const IPV4_IN_IPV6 = 0x2002

/** Whether an address belongs to a local network or this machine, and so to no visitor of the internet. */
export function isLocalAddress(text: string): boolean {
  const address = readAddress(text)
  return address !== undefined && LOCAL_RANGES.has(ipaddr.parse(address).range())
}

const LOCAL_RANGES: ReadonlySet<string> = new Set([
  'loopback',
  'private',
  'linkLocal',
  'uniqueLocal',
])
