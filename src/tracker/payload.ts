import { eventNameOf, type TrackingOperation } from '../contract/events.ts'
import type { Config } from './config.ts'
import { maskUrl } from './lib/maskUrl.ts'

/** The longest user agent that leaves the page, characters; what is longer is cut. */
const MAX_AGENT_CHARACTERS = 1024

/**
 * The payload of the specification, completed: what was given wins over what the page knows
 * (decisions.md, "What the browser fills in"). A field given as `null` or `undefined` was not given.
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
    http_user_agent: navigator.userAgent.slice(0, MAX_AGENT_CHARACTERS),
    remote_addr: config.remoteAddr,
    source: config.source,
    ...(operation === 'setEmail' && { firstname: '', lastname: '', phone: '' }),
  }
  const fields = (given ?? {}) as typeof payload
  for (const name of Object.keys(fields)) payload[name] = fields[name] ?? payload[name]
  const { product_id } = payload
  if (operation === 'viewProduct' && Number.isSafeInteger(product_id))
    payload.product_id = `${product_id}`
  if (typeof payload.url === 'string')
    payload.url = maskUrl(payload.url, `${config.mask ?? ''}`.split(','))
  return payload
}
