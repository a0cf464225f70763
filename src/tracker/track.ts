import { check } from '../contract/check.ts'
import type { DropReason } from '../contract/delivery.ts'
import { ValidationException } from '../contract/errors.ts'
import { eventNameOf } from '../contract/eventNames.ts'
import type { TrackingOperation } from '../contract/payloads.ts'
import type { Config } from './config.ts'
import type { DeviceId } from './deviceId.ts'
import type { IsDuplicate, Reporter } from './duplicates.ts'
import type { Flush } from './flush.ts'
import { now } from './lib/now.ts'
import { uuid7 } from './lib/uuid.ts'
import type { Kind, Notice, Notices } from './notices.ts'
import type { Outbox } from './outbox.ts'
import { completePayload } from './payload.ts'
import { schemas } from './schemas.ts'

export type TrackOptions = {
  /** Default `call`. */
  readonly from?: Reporter
  /** The event's id. Default: a new one. */
  readonly id?: string
  /** When it happened, ms since 1970 by the browser's clock. Default: now. */
  readonly at?: number
  /** The page's URL at that time. Default: its URL now. */
  readonly url?: string
  /** The element or the pushed object that reported it, for notices. */
  readonly where?: unknown
  /** Which keys on the page the event is for. Default all. */
  readonly only?: ((config: Config) => unknown) | undefined
}

/** The id of the accepted event, or why it was not accepted. */
export type Outcome =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly error: ValidationException | DropReason }

/** Completes an event, checks it and puts it into the outbox, for each key on the page. Never throws. */
export type Track = (
  operation: TrackingOperation,
  payload: unknown,
  options?: TrackOptions,
) => Outcome

/**
 * The operation that the gateway will find for an event: that of its event name, except for a custom event, which may
 * have any name.
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
  return (operation, given, options) => {
    // Without a prototype, because pages extend Object.prototype.
    const {
      at = now(),
      id = uuid7(at),
      url = location.href,
      where,
      only,
      from = 'call',
    }: TrackOptions = { __proto__: null, ...options } as TrackOptions
    let outcome: Outcome | undefined

    const about = { operation, from, where }
    const notify = (kind: Kind, key?: string, payload: unknown = given, why?: Notice) =>
      notices.emit(kind, { id, key, payload, ...about, ...why })
    const drop = (
      reason: DropReason,
      key?: string,
      payload?: unknown,
      error?: ValidationException,
    ) => {
      outcome ??= { ok: false, error: error ?? reason } as Outcome
      notify('dropped', key, payload, { reason, error } as Notice)
    }

    const add = (config: Config) => {
      const { key } = config
      const completed = completePayload(operation, given, url, deviceId.get(), config)
      const checked = check(schemas[operationOf(operation, completed.event, config)], completed)
      if (!checked.ok) return drop('invalid', key, completed, checked.error)
      const { payload } = checked
      // The entry of the first key is named by the event's id alone. A key that joins later must not reuse that name
      // while the entry is still in the outbox.
      const reason =
        from !== 'pageView' && isDuplicate(config, payload, from)
          ? 'duplicate'
          : outbox.add({
              name: outcome || only ? `${id}.${key}` : id,
              at,
              key,
              body: JSON.stringify(payload),
              about,
            })
      if (reason) return drop(reason, key, payload)
      outcome = { ok: true, id }
      notify('accepted', key, payload)
      flush.fresh()
    }

    try {
      // A page that calls `track` inside its own replacement of storage or fetch would loop forever.
      flush.busy++
      for (const config of configs.values())
        if (flush.busy < 2 && (!only || only(config))) add(config)
    } catch {
      for (const key of configs.keys())
        drop(
          'invalid',
          key,
          undefined,
          new ValidationException([{ path: '', message: 'Unreadable' }]),
        )
    } finally {
      flush.busy--
    }
    return outcome ?? { ok: false, error: 'ignored' }
  }
}
