/**
 * `window.track`, for shops that write TypeScript: `/// <reference types="shoptrail/global" />` types it.
 * (An import would stay in the shop's code and look for a file that there is none of.)
 *
 * Where a shop has a `track` of its own the helpers are at `shoptrail`, or where `data-global` says. Such a shop
 * copies this file without its last lines, and declares that name: `declare const shoptrail: TrackApi`.
 *
 * Fields of payloads bear the specification's names. `did`, `event`, `url`, `http_user_agent`, and
 * where configured `source` and `remote_addr`, are filled in and may be given.
 */

/** Fields that every helper takes and fills in where they are not given. */
export interface CommonFields {
  /** The device id, a UUID. Default: the one kept for this browser. */
  did?: string
  /** The event's name. Default: the operation's usual one, with the key's prefix. */
  event?: string
  /** The page's address, http or https. Default: where the visitor is; secrets in it are masked. */
  url?: string
  /** Default: the browser's. */
  http_user_agent?: string
  /** The visitor's address. Default: the gateway takes it from the connection. */
  remote_addr?: string
  /** Where the event comes from, in the shop's own words. Default: the key's, else none. */
  source?: string | null
}

/** A line of a cart or a wishlist. */
export interface ProductLine extends CommonFields {
  /** The shop's product number: a whole number from 1, or its digits. Nothing is rounded. */
  product_id: number | string
  /** How many: a whole number from 1. */
  quantity: number
  /** Which variation. A product without any is its own: its number as text, twice. */
  variation: {
    /** Not blank. */
    id: string
    /** Not blank. */
    sku: string
  }
}

/** One fault of a payload. */
export interface TrackIssue {
  /** Where, dotted: `variation.sku`. */
  readonly path: string
  /** What was expected, in short: `Expected whole number`. Debug mode tells it in full, with what came. */
  readonly message: string
}

/** Why an event was dropped. `no_consent` is reserved: the script has no consent mode. */
export type TrackDropReason =
  | 'invalid'
  | 'duplicate'
  | 'no_consent'
  | 'too_old'
  | 'outbox_full'
  | 'refused'
  | 'ignored'

/**
 * What a helper answers: `ok` once the event is checked and kept, long before it is delivered. Otherwise
 * the ValidationException that names every fault, or the reason of the drop.
 */
export type TrackOutcome =
  | { readonly ok: true; readonly id: string }
  | {
      readonly ok: false
      readonly error:
        | (Error & { readonly name: 'ValidationException'; readonly issues: readonly TrackIssue[] })
        | TrackDropReason
    }

/** What became of an event, or of something seen on the page that did not become one: for `track.on`. */
export interface TrackNotice {
  /** The event's id; absent for what never became an event. */
  readonly id?: string | undefined
  /** The tracking key it was for. */
  readonly key?: string | undefined
  /** The helper's name. */
  readonly operation?: string | undefined
  /** As it was sent, or as it was given where it was dropped. */
  readonly payload?: unknown
  /** Of a drop: why. */
  readonly reason?: TrackDropReason | undefined
  /** Of a drop as `invalid`: every fault. */
  readonly error?: (Error & { readonly issues: readonly TrackIssue[] }) | undefined
  /** Of something seen that did not become an event: a short code. */
  readonly code?: string | undefined
  /** The element or the push it was seen at. */
  readonly where?: unknown
  /** Of a drop as `refused`, and of `held`: the HTTP status that was answered, 0 where no answer came. */
  readonly status?: number | undefined
  /** Of a drop as `refused`: the gateway's words. */
  readonly message?: string | undefined
}

/**
 * `window.track`. Every helper answers a promise that never rejects; nobody has to await it, and no
 * step of a purchase should.
 */
export interface TrackApi {
  /** A visit of the home page, or of any page. `track.viewHomepage()` */
  viewHomepage(payload?: CommonFields): Promise<TrackOutcome>
  /** The visitor's e-mail address is known: a sign-in, a newsletter. Names and phone may be left out. */
  setEmail(
    payload: CommonFields & {
      email_address: string
      firstname?: string
      lastname?: string
      phone?: string
    },
  ): Promise<TrackOutcome>
  /** A product page. `track.viewProduct({ product_id: 42 })`; text is kept as it is, `'00042'` too. */
  viewProduct(payload: CommonFields & { product_id: string | number }): Promise<TrackOutcome>
  /** `track.addToCart({ product_id: 42, quantity: 1, variation: { id: '42-S', sku: 'TEE-S' } })` */
  addToCart(payload: ProductLine): Promise<TrackOutcome>
  /** A line leaves the cart; `quantity` says how many. */
  removeFromCart(payload: ProductLine): Promise<TrackOutcome>
  addToWishlist(payload: ProductLine): Promise<TrackOutcome>
  removeFromWishlist(payload: ProductLine): Promise<TrackOutcome>
  /** The visitor begins to check out. `track.initiateCheckout()` */
  initiateCheckout(payload?: CommonFields): Promise<TrackOutcome>
  /** A search in the shop. `track.search({ search_term: 'mug' })` */
  search(payload: CommonFields & { search_term: string }): Promise<TrackOutcome>
  /** An event of the shop's own, under a name of its own. */
  sendCustom(payload: CommonFields & { event: string; email: string }): Promise<TrackOutcome>

  /** The device id of this browser at this shop. */
  readonly did: string
  /** The version of the script. */
  readonly version: string
  /**
   * Tries now to deliver everything kept. Answers how many events were delivered and dropped by it and
   * how many are still kept. Nobody needs it: events leave by themselves.
   */
  flush(): Promise<{ readonly delivered: number; readonly kept: number; readonly dropped: number }>
  /**
   * Tells what becomes of events: `held` means that an attempt to deliver one failed, and that it is kept and
   * tried again (a status of 401, 403 or 404 is a matter of the key's configuration). Answers its own undo.
   */
  on(
    kind: 'accepted' | 'delivered' | 'held' | 'dropped',
    listener: (notice: TrackNotice) => void,
  ): () => void
  /**
   * Debug mode of this tab: the console says what was seen on the page and not sent, why, and what
   * would fix it. `?track_debug=1` in the address does the same. Off takes effect on the next page.
   */
  debug(isOn: boolean): void
  /** A new device id and an empty outbox: what was kept and not delivered is forgotten. */
  reset(): void
}

declare global {
  interface Window {
    track: TrackApi
  }
  const track: TrackApi
}
