import type { lookup } from 'node:dns'
import type { CheckReport } from '../../contract/setup.ts'
import type { Customer } from '../customers/customers.ts'
import { isLoopbackAddress } from '../http/address.ts'
import type { Refusal } from '../http/answers.ts'
import { allowsOrigin, isLoopbackHost } from '../http/origins.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { createAskOwn } from './askGateway.ts'
import { checkShop } from './checkShop.ts'
import { createFetchPage, isPublicAddress } from './fetchPage.ts'
import { allowCommand } from './setupTexts.ts'

/** A check of a customer's shop that an operator asks for. */
export type OwnCheck = {
  readonly customer: Pick<Customer, 'customerId' | 'trackingKey' | 'config' | 'origins'>
  /** Address of a page of the shop. */
  readonly shop: string
  /** The gateway's public address, without a slash at its end. */
  readonly gateway: string
  /** Whether the operator is on this machine (`isLocal` of http/address.ts). */
  readonly isLocal: boolean
}

/** Checks that run at once. Each makes up to 20 requests. */
export const CHECKS = {
  permits: 4,
  permitsOfOne: 1,
  maxWaiting: 8,
  waitMs: 5_000,
  message: 'Another check of a shop is running',
}
export const MAX_REQUESTS = 20
/** Reading a page of this length takes at most some tenths of a second, in the thread that takes events. */
export const MAX_PAGE_BYTES = 2 ** 19
export const MAX_PAGE_MS = 8_000
export const MAX_CHECK_MS = 20_000

/**
 * Checks of shops for operators, within bounds: an operator is a customer, who must not reach what only this machine
 * reaches. Only pages of the customer's own origins are fetched, redirects too, and only at addresses of the public
 * internet; at loopback addresses if the customer's list has `loopback` and the operator is on this machine.
 *
 * @param find Finds the addresses of a name. Default: that of Node.
 */
export function createOwnCheck(find?: typeof lookup) {
  const checks = createSemaphore(CHECKS)

  /** @returns 422 if the address is not one of the customer's shop. Rejects with TooMany. */
  return async function checkOwn({
    customer,
    shop,
    gateway,
    isLocal,
  }: OwnCheck): Promise<{ readonly ok: true; readonly report: CheckReport } | Refusal> {
    const { customerId, trackingKey, origins } = customer
    const isOwn = (url: URL) =>
      allowsOrigin(origins, url.origin) && (isLocal || !isLoopbackHost(url.hostname))
    const refuse = (url: URL) =>
      isOwn(url) ? undefined : `${url.origin.slice(0, 300)} is not one of the customer's origins`
    const refused = readUrl(shop, refuse)
    if (refused !== undefined) return { ok: false, status: 422, message: refused }
    const release = await checks.acquire(customerId)
    try {
      const { report } = await checkShop({
        shop,
        key: trackingKey,
        gateway,
        customerId,
        askGateway: createAskOwn(customer),
        fixRefused: (url) => fixRefused(url, shop, customer),
        fetchPage: createFetchPage({
          refuse,
          allowsAddress: (address, host) =>
            isPublicAddress(address) ||
            (isLocal && isLoopbackHost(host) && isLoopbackAddress(address)),
          maxRequests: MAX_REQUESTS,
          maxBytes: MAX_PAGE_BYTES,
          timeoutMs: MAX_PAGE_MS,
          totalMs: MAX_CHECK_MS,
          ...(find && { lookup: find }),
        }),
      })
      return { ok: true, report }
    } finally {
      release()
    }
  }
}

/**
 * The command that allows an origin to which the shop has redirected, if it is the same name with or without `www.`:
 * the usual reason, and no other site gets allowed by a redirect of its choice.
 */
function fixRefused(url: string, shop: string, customer: OwnCheck['customer']): readonly string[] {
  const bare = (address: string) => new URL(address).hostname.replace(/^www\./, '')
  if (!/^https?:/.test(url) || !URL.canParse(url) || bare(url) !== bare(shop)) return []
  const { origin } = new URL(url)
  const { customerId, origins } = customer
  return allowsOrigin(origins, origin) ? [] : [allowCommand(customerId, origins, origin)]
}

/** Why a text is not the address of a page that may be read. */
function readUrl(text: string, refuse: (url: URL) => string | undefined): string | undefined {
  try {
    const url = new URL(text)
    return /^https?:$/.test(url.protocol) ? refuse(url) : 'Expected an http or https address'
  } catch {
    return 'Expected the address of a page of the shop, such as https://shop.example'
  }
}
