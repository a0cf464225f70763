import { check } from '../contract/check.ts'
import type { DropReason } from '../contract/delivery.ts'
import { ValidationException } from '../contract/errors.ts'
import { eventNameOf, type TrackingOperation } from '../contract/events.ts'
import type { Config } from './config.ts'
import type { DeviceId } from './deviceId.ts'
import type { IsDuplicate, Origin } from './duplicates.ts'
import type { Flush } from './flush.ts'
import { now } from './lib/now.ts'
import { uuid7 } from './lib/uuid.ts'
import type { Kind, Notice, Notices } from './notices.ts'
import type { Outbox } from './outbox.ts'
import { completePayload } from './payload.ts'
import { schemas } from './schemas.ts'

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
  /** Which of the keys on the page it is for. Default all. */
  readonly only?: ((config: Config) => unknown) | undefined
}

/** What became of an event: kept under its id, or why not. */
export type Outcome =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly error: ValidationException | DropReason }

/** The way of an event from whoever saw it into the outbox. Never throws. */
export type Track = (operation: TrackingOperation, payload: unknown, sighting?: Sighting) => Outcome

/**
 * The operation that a payload is checked as: the one whose event name it has, since the gateway takes it for
 * that. A custom event may have any name.
 */
const operationOf = (operation: TrackingOperation, event: unknown, config: Config) =>
  (operation !== 'sendCustom' &&
    (Object.keys(schemas) as TrackingOperation[]).find((other) =>
      [eventNameOf(other), config.events?.[other]].some(
        (name) => name && (event === name || event === config.knownPrefix + name),
      ),
    )) ||
  operation

/** @param configs The configuration of each key on this page; one may join later. */
export function createTrack(
  configs: ReadonlyMap<string, Config>,
  deviceId: DeviceId,
  outbox: Outbox,
  flush: Flush,
  notices: Notices,
  isDuplicate: IsDuplicate,
): Track {
  return (operation, given, sighting) => {
    // Without a prototype: what a page adds to Object.prototype says nothing of this event.
    const {
      at = now(),
      id = uuid7(at),
      url = location.href,
      where,
      only,
      from,
    }: Sighting = { __proto__: null, ...sighting } as Sighting
    let outcome: Outcome | undefined

    const tell = (kind: Kind, key?: string, payload: unknown = given, why?: Notice) =>
      notices.tell(kind, { id, operation, where, key, payload, ...why })
    const drop = (
      reason: DropReason,
      error?: ValidationException,
      key?: string,
      payload?: unknown,
    ) => {
      outcome ??= { ok: false, error: error ?? reason } as Outcome
      tell('dropped', key, payload, { reason, error } as Notice)
    }

    const add = (config: Config) => {
      const { key } = config
      const completed = completePayload(operation, given, url, deviceId.get(), config)
      const checked = check(schemas[operationOf(operation, completed.event, config)], completed)
      if (!checked.ok) return drop('invalid', checked.error, key, completed)
      const { payload } = checked
      if (from !== 'pageView' && isDuplicate(config, payload, from))
        return drop('duplicate', undefined, key, payload)
      const body = JSON.stringify(payload)
      // The first key's entry bears the event's id alone, a second key's also its own: one that joins
      // later must not take the name of an entry that is still on its way.
      if (!outbox.add({ name: outcome || only ? `${id}.${key}` : id, at, key, body }))
        return drop('outbox_full', undefined, key, payload)
      outcome = { ok: true, id }
      tell('accepted', key, payload)
      flush.fresh()
    }

    try {
      // A page that tracks from inside its own storage or fetch would go round for ever.
      if (flush.busy++) throw flush
      for (const config of configs.values()) if (!only || only(config)) add(config)
    } catch {
      const message = 'Unreadable'
      drop('invalid', new ValidationException([{ path: '', message }]))
    } finally {
      flush.busy--
    }
    return outcome ?? { ok: false, error: 'ignored' }
  }
}
