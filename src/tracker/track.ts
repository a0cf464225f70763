import { check } from '../contract/check.ts'
import { type DropReason, MAX_EVENT_BYTES } from '../contract/delivery.ts'
import { ValidationException } from '../contract/errors.ts'
import { createEventSchemas, type TrackingOperation } from '../contract/events.ts'
import { optionalText } from '../contract/fields.ts'
import type { Config } from './config.ts'
import type { DeviceId } from './deviceId.ts'
import type { Flush } from './flush.ts'
import { byteLength } from './lib/byteLength.ts'
import { now } from './lib/now.ts'
import { uuid7 } from './lib/uuid.ts'
import type { Notice, Notices } from './notices.ts'
import type { Outbox } from './outbox.ts'
import { completePayload } from './payload.ts'

/** Who saw it. */
export type Origin = 'call' | 'attribute' | 'pageView' | 'dataLayer' | 'ga4' | 'schemaOrg'

/** How, when and where something was seen; what is absent is now and here. */
export type Sighting = {
  /** Who saw it. Default `call`. */
  readonly from?: Origin
  /** The event's id. */
  readonly id?: string
  /** When, ms since 1970 by the browser's clock. */
  readonly at?: number
  /** The page's address then. */
  readonly url?: string
  /** The element or the push, for who reads notices. */
  readonly where?: unknown
  /** Names the only key it is for. Default all on the page. */
  readonly key?: string
}

/** What became of an event: kept under its id, or why not. */
export type Outcome =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly error: ValidationException | DropReason }

/** The way of an event from whoever saw it into the outbox. Never throws. */
export type Track = (operation: TrackingOperation, payload: unknown, sighting?: Sighting) => Outcome

const schemas = createEventSchemas(optionalText)

const invalid = (message: string) => new ValidationException([{ path: '', message }])

/** @param configs The configuration of each key on this page; one may join later. */
export function createTrack(
  configs: ReadonlyMap<string, Config>,
  deviceId: DeviceId,
  outbox: Outbox,
  flush: Flush,
  notices: Notices,
): Track {
  let inside = false

  return function track(operation, given, sighting = {}) {
    const { at = now(), id = uuid7(at), url = location.href, where } = sighting
    let outcome: Outcome | undefined

    const refuse = (error: ValidationException | DropReason, payload: unknown, key?: string) => {
      outcome ??= { ok: false, error }
      const why = typeof error === 'string' ? { reason: error } : { reason: 'invalid', error }
      notices.tell('dropped', { id, operation, payload, where, key, ...why } as Notice)
    }

    const add = (config: Config) => {
      const { key } = config
      const payload = completePayload(operation, given, url, deviceId.get(), config)
      const checked = check(schemas[operation], payload)
      if (!checked.ok) return refuse(checked.error, payload, key)
      const body = JSON.stringify(checked.payload)
      if (byteLength(body) > MAX_EVENT_BYTES)
        return refuse(invalid(`Expected at most ${MAX_EVENT_BYTES} bytes`), payload, key)
      // The first key's entry bears the event's id alone, a second key's also its own.
      if (!outbox.add({ name: outcome?.ok ? `${id}.${key}` : id, at, key, body }))
        return refuse('outbox_full', payload, key)
      outcome = { ok: true, id }
      notices.tell('accepted', { id, operation, payload: checked.payload, where, key })
      flush.fresh()
    }

    // A page that tracks from inside its own storage or fetch would go round for ever.
    if (inside) refuse(invalid('Called from inside storage or fetch'), given)
    else
      try {
        inside = true
        for (const config of configs.values())
          if (!sighting.key || sighting.key === config.key) add(config)
      } catch {
        refuse(invalid('Unreadable'), given)
      } finally {
        inside = false
      }
    return outcome as Outcome
  }
}
