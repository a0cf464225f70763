import { timingSafeEqual } from 'node:crypto'
import type { TrackingOperation } from '../../contract/index.ts'
import type { KeySettings } from '../../contract/settings.ts'
import { HASH_BYTES, hashSecret } from '../lib/secret.ts'
import type { AddressForm } from './keptAddresses.ts'
import type { OrderSettings, OrderSettingsChange } from './orderSettings.ts'
import type { KeyKind, OldKey } from './overlap.ts'
import type { Retention } from './retention.ts'

/** A shop that uses the gateway. Of its REST key only the hash is stored. */
export type Customer = OrderSettings & {
  readonly customerId: string
  /** Name for operators. May be empty. */
  readonly name: string
  /** Public key of its pages. */
  readonly trackingKey: string
  /**
   * Origins whose pages may send events, as `readOrigin` returns them: `https://shop.example`,
   * `https://*.shop.example`, `null`, `loopback`.
   */
  readonly origins: readonly string[]
  /** Settings of the script on its pages. */
  readonly config: KeySettings
  /** The same as JSON, so that a change is found by comparing texts. */
  readonly configText: string
  /** Its own event names, from `config.events`, by name. */
  readonly operations: ReadonlyMap<string, TrackingOperation>
  /** The names in `config.mask`, as `namesToMask` returns them. */
  readonly masked: ReadonlySet<string>
  /** SHA-256 of the restKey. */
  readonly restKeyHash: Buffer
  /** SHA-256 of the old restKey while its overlap lasts by the clock. NO_KEY_HASH if there is none. */
  readonly oldRestKeyHash: () => Buffer
  /** The old keys of the last rotations. Their overlap may have ended. */
  readonly overlaps: {
    /** The hash of the restKey. */
    readonly rest: OldKey<Buffer> | undefined
    readonly tracking: OldKey<string> | undefined
  }
  /** Its own daily quota. Undefined: that of the settings applies. */
  readonly dailyEvents: number | undefined
  readonly dailyBytes: number | undefined
  /** Addresses and networks whose visits are not stored, as `readIgnored` returns them: those of its own staff. */
  readonly ignored: readonly string[]
  readonly isIgnored: (address: string) => boolean
  /** How its events keep the visitors' addresses. */
  readonly addresses: AddressForm
  /** How long its events are kept, days. Undefined: without a limit. */
  readonly retentionDays: number | undefined
  /** When it was added, ms since 1970. */
  readonly createdAt: number
  /** Properties whose stored value is unusable, and which are empty here. Usually none. */
  readonly faults: readonly CustomerFault[]
}

/** A part of a customer that can not be used as it is stored. */
export type CustomerFault = {
  readonly part:
    | 'origins'
    | 'config'
    | 'restKey'
    | 'ignored'
    | 'addresses'
    | 'currency'
    | 'timeZone'
    | 'refundStatuses'
  /** For the operator. Not for strangers, since it may quote what is stored. */
  readonly reason: string
}

/** A change of a customer. Absent fields are not changed. */
export type CustomerChange = OrderSettingsChange & {
  readonly name?: string
  readonly origins?: readonly string[]
  readonly config?: KeySettings
  /** A daily quota of its own. Null: that of the settings applies. */
  readonly dailyEvents?: number | null
  readonly dailyBytes?: number | null
  readonly ignored?: readonly string[]
  /** For events that are stored from now on. Default of a new customer: `whole`. */
  readonly addresses?: AddressForm
  /** How long its events are kept, days. Null: without a limit. */
  readonly retentionDays?: number | null
}

/**
 * The customers of a gateway, in one SQLite file that the command line writes to as well. Every call throws
 * Unavailable if the file can not be read or written; the message names the file and the remedy.
 */
export type Customers = {
  /**
   * Adds a customer. Creates the id and the keys that are not passed. For a shop that moves from another service, pass
   * those that its clients already use.
   *
   * @returns The customer, and its REST key, which can not be read later.
   * @throws Error if the id or the tracking key is or was that of another customer, or the REST key is not valid
   * (`isRestKey`).
   */
  add(
    given?: CustomerChange & {
      readonly customerId?: string
      readonly trackingKey?: string
      readonly restKey?: string
    },
  ): { readonly customer: Customer; readonly restKey: string }
  list(): readonly Customer[]
  find(customerId: string): Customer | undefined
  /**
   * The customer of a tracking key, also of an old one while its overlap lasts. `trackingKey` of the result is the given
   * key, since the script of a page sends with the key of its tag.
   */
  findByTrackingKey(trackingKey: string): Customer | undefined
  /**
   * False if there is no such customer. Its events and campaigns stay in the log, so its id and tracking keys can
   * never be used again: a new owner would see them, and old pages would send events to the new owner.
   */
  remove(customerId: string): boolean
  /** The customers whose events are kept for a limited time. Includes removed customers, since their events stay. */
  retentions(): readonly Retention[]
  /** Whether a removed customer had this id. */
  isRetired(customerId: string): boolean
  change(customerId: string, change: CustomerChange): Customer | undefined
  /**
   * Makes a new key. The old one works until the overlap ends, and can never be used again for another customer or as a
   * new key.
   *
   * @param overlapMs At most MAX_OVERLAP_MS. Default 0: the old key, and an older one whose overlap lasts, end at once.
   * @returns The new key. Undefined if there is no such customer.
   * @throws OverlapLasts if `overlapMs` is above 0 and the overlap of an earlier rotation of this key lasts: at most one
   * old key of a kind works.
   */
  rotate(customerId: string, key: KeyKind, overlapMs?: number): string | undefined
  /** Ends the overlap of a key at once. False if there is none that lasts. */
  endOverlap(customerId: string, key: KeyKind): boolean
  /** Why a customer that is not found may exist: the file is damaged or empty. Otherwise undefined. */
  fault(): string | undefined
  close(): void
}

/** A hash that no key has. */
export const NO_KEY_HASH: Buffer = Buffer.alloc(HASH_BYTES)

/** Whether a text is the REST key of the customer, or its old one while the overlap lasts. */
export const hasRestKey = (customer: Customer, restKey: string): boolean =>
  isRestKeyHash(customer, hashSecret(restKey))

/** The same for the hash of a key. Both keys are compared in any case, so that the time does not show which one it is. */
export function isRestKeyHash(
  { restKeyHash, oldRestKeyHash }: Pick<Customer, 'restKeyHash' | 'oldRestKeyHash'>,
  hash: Buffer,
): boolean {
  const isCurrent = timingSafeEqual(hash, restKeyHash)
  const isOld = timingSafeEqual(hash, oldRestKeyHash())
  return isCurrent || isOld
}

/** The shortest and the longest restKey that an operator may bring along, characters. */
const REST_KEY_LENGTH = { min: 16, max: 256 }
/** The rule of `isRestKey` for error messages. */
export const REST_KEY_RULE = `${REST_KEY_LENGTH.min} to ${REST_KEY_LENGTH.max} characters, without white space at its ends`

/**
 * Whether a text may be the restKey of a new customer: 16 characters at least, since strangers can guess short ones;
 * 256 at most, the limit of the client; no white space at its ends, since clients trim it. Shorter keys that are
 * already stored keep working.
 */
export function isRestKey(text: string): boolean {
  const { length } = [...text]
  return text === text.trim() && length >= REST_KEY_LENGTH.min && length <= REST_KEY_LENGTH.max
}
