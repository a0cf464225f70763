import { schemeOf } from '../../src/contract/setup.ts'

/** The shop's address, as the operator types it and as this page's address keeps it. */

/** Longest address, characters. */
const MAX_LENGTH = 2_000
/** Longest name of a host (https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4), which Chromium does not check. */
const MAX_HOST_LENGTH = 253

/** @returns The address; if there is no scheme, https is added, or http on this machine. Undefined if it is no address of a web page. */
export function readAddress(text: string): string | undefined {
  const typed = text.trim()
  // Chromium takes a host with a space.
  if (!typed || typed.length > MAX_LENGTH || /\s/.test(typed)) return undefined
  // Browsers take `https:/shop.example` too.
  const whole = /^(https?:|[a-z][a-z\d+.-]*:\/\/)/i.test(typed)
    ? typed
    : `${schemeOf(typed)}://${typed}`
  try {
    const url = new URL(whole)
    if (!/^https?:$/.test(url.protocol) || url.hostname.length > MAX_HOST_LENGTH) return undefined
    // It is passed on to colleagues, and the gateway asks for it.
    url.username = ''
    url.password = ''
    url.hash = ''
    return url.href
  } catch {
    return undefined
  }
}

/** `#shop=https%3A%2F%2Fshop.example%2F`. */
export const hashOf = (shop: string): string => `#shop=${encodeURIComponent(shop)}`

/** The address that a fragment of this page names. Undefined if it names none. */
export const shopOf = (hash: string): string | undefined =>
  readAddress(new URLSearchParams(hash.slice(1)).get('shop') ?? '')

/** The same page with the inspector over it. */
export function withInspector(address: string): string {
  const url = new URL(address)
  url.searchParams.set('track_debug', '1')
  return url.href
}
