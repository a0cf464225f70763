// The types of the helpers, one file without imports.

/** Fields of every payload. All are optional: a helper fills in those that are not given. */
export interface CommonFields {
  /** The device id. Default: that of this browser. */
  did?: string
  /** The event's name. Default: the usual name of the operation, with the key's prefix. */
  event?: string
  /** The page's URL, http or https. Secrets in it are masked. Default: the current URL. */
  url?: string
  /** The user agent. Default: that of the browser. */
  http_user_agent?: string
  /** The visitor's IP address. Default: the gateway takes it from the connection. */
  remote_addr?: string
  /** Where the event comes from; the shop chooses the text. Default: the key's setting, else none. */
  source?: string | null
}

/** A product line of a cart or a wishlist. */
export interface ProductLine extends CommonFields {
  /** The shop's product id: a whole number from 1, or its digits as text. Not rounded. */
  product_id: number | string
  /** A whole number from 1. */
  quantity: number
  /** The variation. For a product without variations, both fields are its id as text. */
  variation: {
    /** Not blank. */
    id: string
    /** Not blank. */
    sku: string
  }
}

/** One fault of a payload. */
export interface TrackIssue {
  /** Path of the field: `variation.sku`. */
  readonly path: string
  /** What was expected, in short: `Expected whole number`. Debug mode shows the full rule and the value. */
  readonly message: string
}

export type TrackConsent = 'granted' | 'denied'

/** Why an event was dropped. */
export type TrackDropReason =
  | 'invalid'
  | 'duplicate'
  | 'no_consent'
  | 'too_old'
  | 'outbox_full'
  | 'refused'
  | 'ignored'

/**
 * The result of a helper. `ok` is true when the event was checked and put into the outbox; it is delivered later.
 * Otherwise `error` is a ValidationException with every fault, or the reason why the event was dropped.
 */
export type TrackOutcome =
  | { readonly ok: true; readonly id: string }
  | {
      readonly ok: false
      readonly error:
        | (Error & { readonly name: 'ValidationException'; readonly issues: readonly TrackIssue[] })
        | TrackDropReason
    }

/** What has reported an event: a call of the shop's code, or one of the script's readers. */
export type TrackReporter =
  | 'call'
  | 'attribute'
  | 'pageView'
  | 'dataLayer'
  | 'ga4'
  | 'ga4.gtag'
  | 'ga4.ua'
  | 'schemaOrg'

/** For `track.on`: what happened to an event, or to something on the page that did not become an event. */
export interface TrackNotice {
  /** The event's id. Absent if there is no event. */
  readonly id?: string | undefined
  /** The tracking key that the event is for. */
  readonly key?: string | undefined
  /** The helper's name. */
  readonly operation?: string | undefined
  /** What has reported the event. Absent for an event of an earlier page. */
  readonly from?: TrackReporter | undefined
  /** The payload as it is sent. If it was dropped, as it was given. */
  readonly payload?: unknown
  /** Why the event was dropped. For the kind `held`: `no_consent`, or none if a request failed. */
  readonly reason?: TrackDropReason | undefined
  /** Every fault, if the reason is `invalid`. */
  readonly error?: (Error & { readonly issues: readonly TrackIssue[] }) | undefined
  /** A short code, if something on the page did not become an event. */
  readonly code?: string | undefined
  /** The element or the pushed object. */
  readonly where?: unknown
  /** The HTTP status, 0 without an answer. For the kind `held`, and the reason `refused`. */
  readonly status?: number | undefined
  /** The gateway's message, if the reason is `refused`. */
  readonly message?: string | undefined
}

/** `window.track`. Every helper returns a promise that never rejects. Do not let the visitor wait for it. */
export interface TrackApi {
  /** The visitor sees the home page, or any page. `track.viewHomepage()` */
  viewHomepage(payload?: CommonFields): Promise<TrackOutcome>
  /** The visitor's e-mail address is known, from a sign-in or a newsletter form. */
  setEmail(
    payload: CommonFields & {
      email_address: string
      firstname?: string
      lastname?: string
      phone?: string
    },
  ): Promise<TrackOutcome>
  /** The visitor sees a product. `track.viewProduct({ product_id: 42 })`. Text is not changed: `'00042'`. */
  viewProduct(payload: CommonFields & { product_id: string | number }): Promise<TrackOutcome>
  /** `track.addToCart({ product_id: 42, quantity: 1, variation: { id: '42-S', sku: 'TEE-S' } })` */
  addToCart(payload: ProductLine): Promise<TrackOutcome>
  /** `quantity` is the number of pieces that are removed. */
  removeFromCart(payload: ProductLine): Promise<TrackOutcome>
  addToWishlist(payload: ProductLine): Promise<TrackOutcome>
  removeFromWishlist(payload: ProductLine): Promise<TrackOutcome>
  /** The visitor starts the checkout. `track.initiateCheckout()` */
  initiateCheckout(payload?: CommonFields): Promise<TrackOutcome>
  /** The visitor searches. `track.search({ search_term: 'mug' })` */
  search(payload: CommonFields & { search_term: string }): Promise<TrackOutcome>
  /** An event of the shop's own. */
  sendCustom(payload: CommonFields & { event: string; email: string }): Promise<TrackOutcome>

  /** The device id of this browser in this shop. Empty while the visitor has not consented. */
  readonly did: string
  /** The version of the script. */
  readonly version: string
  /**
   * Sends all events in the outbox now. Resolves within 35 s with the numbers of events that were delivered and dropped,
   * and that are still in the outbox. Events are also sent without it.
   */
  flush(): Promise<{ readonly delivered: number; readonly kept: number; readonly dropped: number }>
  /**
   * Calls a listener for each event that is accepted, sent, delivered, held or dropped. `sent` means that a request with
   * the event has started; the answer is one of the other kinds. `held` means that a request failed and that the event
   * will be sent again; the status 401, 403 or 404 points to a mistake in the configuration. `held` with the reason
   * `no_consent` means that the event waits in memory for the visitor's consent. Returns a function that removes the
   * listener.
   */
  on(
    kind: 'accepted' | 'sent' | 'delivered' | 'held' | 'dropped',
    listener: (notice: TrackNotice) => void,
  ): () => void
  /** Calls a listener with each new `consentState`. */
  on(kind: 'consent', listener: (state: TrackConsent | undefined) => void): () => void
  /**
   * Debug mode of this tab: the console lists what was seen on the page and not sent, why, and how to fix it.
   * `?track_debug=1` in the address does the same. Off takes effect on the next page.
   */
  debug(isOn: boolean): void
  /**
   * The visitor's choice on this shop. `denied` deletes the device id and every event that is not delivered, in all tabs
   * of the origin, and ends tracking; `granted` starts it. The choice is remembered in localStorage. Other values are
   * ignored. For a key without settings of consent, it does nothing.
   */
  consent(choice: TrackConsent): void
  /** Whether the script may track. Undefined: nobody has answered yet, and the key's setting `consent` asks for an answer. */
  readonly consentState: TrackConsent | undefined
  /** Makes a new device id and empties the outbox. Events that were not delivered are lost. */
  reset(): void
}
