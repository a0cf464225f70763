import { findGateway } from '../operator/findGateway.ts'
import type { Customer } from '../operator/operator.ts'

/** Shown if the gateway does not know the shop's address. */
const UNKNOWN = 'https://your-shop.example/'

/** A customer's shop, as far as the gateway knows it. */
export type Shop = { readonly href: string; readonly isKnown: boolean; readonly isDemo: boolean }

export function shopOf({ demo, origin }: Pick<Customer, 'demo' | 'origin'>): Shop {
  if (demo) return { href: `${findGateway()}/shop/`, isKnown: true, isDemo: true }
  return { href: origin ? `${origin}/` : UNKNOWN, isKnown: origin !== null, isDemo: false }
}
