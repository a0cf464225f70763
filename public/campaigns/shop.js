/** Where a customer's shop is, as far as the gateway knows it. */

/** In the place of a shop's address that the gateway does not know. */
const UNKNOWN = 'https://your-shop.example/'

/** @returns {{ href: string, isKnown: boolean, isDemo: boolean }} */
export function shopOf({ demo, origin }) {
  if (demo) return { href: `${location.origin}/shop/`, isKnown: true, isDemo: true }
  return { href: origin ? `${origin}/` : UNKNOWN, isKnown: origin !== null, isDemo: false }
}
