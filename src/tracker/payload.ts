import { eventNameOf } from '../contract/eventNames.ts'
import { MAX_URL_CHARACTERS } from '../contract/fields.ts'
import { maskUrl, namesToMask, shortenUrl } from '../contract/maskUrl.ts'
import type { TrackingOperation } from '../contract/payloads.ts'
import type { Config } from './config.ts'

/**
 * The complete payload. Fields that the caller gives replace those that the script fills in
 * (docs/decisions.md, "Completed fields"). `null` and `undefined` count as absent.
 * Secrets in URLs are masked. Throws what a getter of the given object throws.
 *
 * @param given The caller's fields.
 * @param url The page's URL at the time of the call.
 */
export function completePayload(
  operation: TrackingOperation,
  given: unknown,
  url: string,
  did: string,
  config: Config,
): { readonly [name: string]: unknown } {
  const event = config.events?.[operation] ?? eventNameOf(operation)
  const payload: { [name: string]: unknown } = {
    // No prototype, because pages extend Object.prototype.
    __proto__: null,
    did,
    event: event && (config.eventPrefix ?? '') + event,
    url,
    http_user_agent: navigator.userAgent,
    remote_addr: config.remoteAddr,
    source: config.source,
    ...(operation === 'setEmail' && { firstname: '', lastname: '', phone: '' }),
  }
  const fields = (given ?? {}) as typeof payload
  for (const name of Object.keys(fields)) payload[name] = fields[name] ?? payload[name]
  const { product_id } = payload
  if (operation === 'viewProduct' && Number.isSafeInteger(product_id))
    payload.product_id = `${product_id}`
  if (typeof payload.url === 'string') {
    // Shortened first, so that masking takes bounded time, and again, because `***` may be longer than a value.
    const bounded = shortenUrl(payload.url).slice(0, 2 * MAX_URL_CHARACTERS)
    payload.url = shortenUrl(maskUrl(bounded, namesToMask(`${config.mask ?? ''}`)))
  }
  return payload
}
