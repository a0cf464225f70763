import { isLongerThan } from '../contract/characters.ts'
import { eventNameOf, type TrackingOperation } from '../contract/events.ts'
import { MAX_URL_CHARACTERS } from '../contract/fields.ts'
import type { Config } from './config.ts'
import { maskUrl, namesToMask } from './lib/maskUrl.ts'

/** An address that is too long without its fragment, then without its query. */
const shorten = (url: string) => {
  for (const mark of '#?')
    if (isLongerThan(url, MAX_URL_CHARACTERS)) [url = ''] = url.split(mark, 1)
  return url
}

/**
 * The payload of the specification, completed: what was given wins over what the page knows
 * (docs/decisions.md, "Completed fields"). A field given as `null` or `undefined` was not given.
 * Addresses are masked whoever gave them. Throws where a getter of the page's does.
 *
 * @param given The caller's fields.
 * @param url The page's address at the moment of the call.
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
    // What was given as undefined is absent, whatever the page put into Object.prototype.
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
    // Bounded before it is looked at; a mask may be longer than what it hides.
    const bounded = shorten(payload.url).slice(0, 2 * MAX_URL_CHARACTERS)
    payload.url = shorten(maskUrl(bounded, namesToMask(`${config.mask ?? ''}`)))
  }
  return payload
}
