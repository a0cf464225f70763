import { describeIssue } from '../../contract/describeIssue.ts'
import type { Issue } from '../../contract/errors.ts'
import { EVENT_NAMES } from '../../contract/eventNames.ts'
import { nearest } from '../../contract/nearest.ts'
import { HELPERS } from '../../contract/trackAttributes.ts'
import type { TrackDropReason, TrackNotice } from '../global.d.ts'
import { guard } from '../lib/guard.ts'

/** A name that differs by more letters is not suggested. */
const MAX_DISTANCE = 4
/** Event names that plugins may push, without the prefix. */
const PUSHES = [
  ...Object.values(EVENT_NAMES).filter(Boolean),
  'view_category',
  'view_brand',
  'set_phone',
]

/** A notice of a drop, or of the kind `held`, which has that as its reason. */
export type Explained = Omit<TrackNotice, 'reason'> & {
  readonly reason?: TrackDropReason | 'held' | undefined
}

/** Code of a set_phone whose number is kept until set_email. */
const KEPT_PHONE = 'set_phone-kept'

/** Code of an event that is held until the visitor has answered the question for consent. */
export const HELD_FOR_CONSENT = 'consent'

/** Why something was not sent, and how to fix it, by the notice's code. */
const BY_CODE: { readonly [code: string]: readonly [why: string, fix: string] } = {
  helper: [
    'There is no helper of that name.',
    `Write one of these into data-track: ${HELPERS.join(', ')}.`,
  ],
  from: [
    'The selector matches no form field that may be read, neither in this element nor in one around it. Passwords, card numbers and unchecked choices are not read. A default was sent instead if there is one (a quantity of 1, the product as its own variation).',
    'Correct the selector, or put the field into the same card as the element.',
  ],
  attribute: [
    'The script does not know an attribute of that name. A default was sent instead if there is one (a quantity of 1, the product as its own variation).',
    'Correct the name.',
  ],
  disabled: [
    'The control is disabled, by `disabled` or `aria-disabled="true"`, on it or around it.',
    'Nothing to do. If the control should work, enable it.',
  ],
  prevented: [
    'The page prevented this submit: it may have found a mistake in the form.',
    'If the page sends the form by itself, add data-track-prevented="count" to it.',
  ],
  presence: [
    'Elements with data-track-on="load" or "visible" are read by the file /t/p.js of the gateway, which could not be loaded.',
    "Check in the network panel whether a proxy blocks it, and allow the gateway's address in the page's policy (script-src).",
  ],
  push: [
    'There is no event of that name after the prefix.',
    `Push one of these: ${PUSHES.join(', ')}.`,
  ],
  order: [
    'Shops report orders from their server, so an order that a page pushes is not sent.',
    'Nothing to do, unless the shop does not report its orders itself.',
  ],
  [HELD_FOR_CONSENT]: [
    'The visitor has not answered the question for consent. The event waits in the memory of this page.',
    "For a test, answer the shop's question, or call track.consent('granted'): then it is sent.",
  ],
  set_phone: ['The push has no number.', 'Push the number as `phone`.'],
  [KEPT_PHONE]: [
    'No valid e-mail address was pushed on this page yet. The number is sent with the next set_email of the page.',
    'Nothing to do, if the page pushes `set_email` later.',
  ],
  'ga4-item-id': [
    'The product id of this item is not a positive integer, so no product line was sent.',
    'Set ga4.productId (for example {"from": "product_id"}, or a pattern) to where an item holds the shop\'s numeric product id.',
  ],
  'ga4-no-id': [
    'The item has no id, and its name does not identify the product.',
    'Push `item_id`, or set ga4.productId.from to the parameter that holds the id.',
  ],
  'ga4-quantity': [
    'The quantity is not a positive integer, so no product line was sent.',
    'Push whole quantities, or set ga4.quantity to "up" to round up.',
  ],
  'ga4-variant': [
    'item_variant is a label, not an id. The line was sent with the product id as its variation.',
    'Set ga4.variationId to the parameter that holds the id of the variation.',
  ],
  'ga4-split-push': [
    'The event came without items. Earlier pushes are not merged into it.',
    'Send event and items in one push.',
  ],
  'ga4-too-many': ['Only the first 20 items of one push are sent.', 'Push fewer items at a time.'],
  'ga4-search-term': ['The search has no term that is text.', 'Push `search_term` with the event.'],
  'ga4-user-data': [
    'user_data holds no plain e-mail address. Hashed ones (sha256_…) can not be decoded.',
    'Push `email` in plain text, or report set_email in another way.',
  ],
  'ga4-purchase': [
    'Shops report orders from their server, so purchases and refunds are not read.',
    'Nothing to do, unless the shop does not report its orders itself.',
  ],
  'schema-json': [
    'A script of type application/ld+json on this page is not JSON.',
    'Correct the JSON; a validator for structured data shows where it breaks.',
  ],
  'schema-many': [
    'The page describes several products, and not one of them has the address of the page.',
    'Give the page\'s own product its `url`, or report the view with data-track="viewProduct".',
  ],
  'schema-no-id': [
    'The product that the page describes has no productID, sku, @id or url.',
    'Add `productID` (or `sku`) to the description.',
  ],
}

/** Why an event was dropped, or is held, by the notice's reason. */
const BY_REASON: { readonly [reason: string]: readonly [why: string, fix: string] } = {
  invalid: ['The event breaks a rule of its operation.', 'Correct the fields named here.'],
  duplicate: [
    'The same action was reported in another way within the window, or twice by the same code during one DOM event.',
    'Nothing to do. If these are two actions, lower duplicateWindowMs, or report each in one way only.',
  ],
  no_consent: [
    'The visitor has refused, or has not answered and the event could not wait.',
    "Nothing to do: it must not be sent. For a test, answer the shop's question, or call track.consent('granted').",
  ],
  too_old: [
    'It could not be delivered within maxAgeDays (30 days by default).',
    'Find out why the gateway was not reached.',
  ],
  outbox_full: [
    'Too many events wait for delivery: storage and memory are full.',
    'Find out why the gateway is not reached.',
  ],
  refused: ['The gateway has refused it for good.', 'Its answer above says why.'],
  ignored: [
    "This browser's visits are not counted: ?track_ignore=1 was in the address of one of this shop's pages. Or the key's setting exclude names this page.",
    'Open a page with ?track_ignore=0, or change exclude.',
  ],
  held: [
    'The events are kept, and sent again until the gateway takes them or they are too old (maxAgeDays).',
    'Nothing to do, unless it goes on: then see the log of the gateway, or of a proxy in front of it.',
  ],
}

/** How to fix that events are held, by the HTTP status. */
function fixOf({ status, key, reason }: Explained): string | undefined {
  if (reason !== 'held') return
  if (status === 0)
    return "No answer came. Check in the network panel whether a content blocker or the page's own policy (connect-src) blocks the request."
  if (/^3/.test(`${status}`))
    return "The address in the script's tag answers with a redirect, which the script does not follow when it sends events. If the gateway's PUBLIC_URL is set, events are sent there. Write the new address into the tag."
  if (status === 403)
    return `Allow this address: npx shoptrail customer set ID --origin ${location.origin}. Repeat --origin for every other allowed address, because set replaces the list.`
  if (status === 401 || status === 404)
    return `Is the tracking key ${key ?? ''} in the script's tag right? npx shoptrail customer list prints the keys.`
  return
}

/**
 * The code of something that did not become an event. Notices of an element without a valid helper, and of an unknown
 * push, have none.
 */
export function codeOf({ code, operation = '', where, reason }: Explained): string | undefined {
  if (code || reason !== 'invalid' || !where || HELPERS.includes(operation)) return code
  if (isElement(where)) return 'helper'
  if (operation === 'set_phone' && hasNumber(where)) return KEPT_PHONE
  return /^(order|set_phone)$/.test(operation) ? operation : 'push'
}

/** Whether a push has a phone number, by the rule of parts/dataLayer.ts. */
const hasNumber = (push: unknown): boolean =>
  [(push as { phone?: unknown }).phone, (push as { tmphone?: unknown }).tmphone].some((value) =>
    typeof value === 'string' ? value.trim() : typeof value === 'number' && value,
  )

/** Suggests a name that is similar to the unknown one. */
function suggest(code: string | undefined, { operation = '' }: Explained): string | undefined {
  const names = { helper: HELPERS, push: PUSHES }[code ?? '']
  const near = names && nearest(operation, names, MAX_DISTANCE)
  return near && `Did you mean ${near}?`
}

/** The event's name if it is not the usual one of its operation: a page view is a viewHomepage named view_page. */
export function ownEventName({ operation = '', payload }: Explained): string {
  // What the page has given may have a getter that throws.
  const event = guard(() => Object(payload).event as unknown)
  const usual = EVENT_NAMES[operation as keyof typeof EVENT_NAMES]
  return usual && typeof event === 'string' && event !== usual ? ` "${event}"` : ''
}

/** A payload without the fields of visitor and page. */
const shortPayload = (payload: unknown) =>
  toText({
    ...(payload as object),
    did: undefined,
    url: undefined,
    http_user_agent: undefined,
  })

/** An issue in full. "Expected text, received 12" may look right to a reader, so it says that text is a string. */
const issueText = (issue: Issue, payload: unknown) =>
  guard(() => describeIssue(issue, payload), issue).message.replace(
    /^Expected text\b(.*), received (?!")/,
    'Expected text$1 (a string), received ',
  )

export const isElement = (where: unknown): where is Element =>
  typeof Element === 'function' && where instanceof Element

/** An element as its tag with the id, another value as JSON, at most 200 characters. */
export function toText(where: unknown): string {
  if (isElement(where)) {
    // In a form, `id` may be the field of that name.
    const id = where.getAttribute('id')
    return `<${where.localName}${id ? ` id="${id}"` : ''}>`
  }
  try {
    return (JSON.stringify(where) ?? `${where}`).slice(0, 200)
  } catch {
    return Object.prototype.toString.call(where)
  }
}

/** A notice in words. */
export type Explanation = {
  /** The operation, with the event's own name if it has one. */
  readonly name: string
  /** What happened: `was not sent`. */
  readonly outcome: string
  /** The code or the reason. */
  readonly code: string
  /** The place: an element, or a pushed object. */
  readonly at?: string | undefined
  /** The payload, if the event was already on its way. */
  readonly event?: string | undefined
  readonly why?: string | undefined
  /** Each fault of the payload: the full rule, and the value. */
  readonly issues: readonly Issue[]
  /** The HTTP status, and the message of the gateway. */
  readonly seen?: string | undefined
  readonly fix?: string | undefined
}

/**
 * A notice in words: what happened, why, and how to fix it. An unknown code is shown as it is.
 *
 * @param notice If the event was dropped after it was accepted (`refused`, `too_old`), with operation and payload from
 * its notice `accepted`, if the page has it.
 */
export function toExplanation(notice: Explained): Explanation {
  const { operation, reason, error, status, message, where, payload } = notice
  const code = codeOf(notice)
  const [why, fix] = BY_CODE[code ?? ''] ?? BY_REASON[reason ?? ''] ?? []
  const outcome =
    reason === 'held'
      ? code
        ? 'waits'
        : 'wait'
      : code === KEPT_PHONE
        ? 'is kept until set_email'
        : code && !reason
          ? 'was sent, but not all of it'
          : 'was not sent'
  const name =
    (operation && `${operation}${ownEventName(notice)}`) ||
    (reason === 'held' ? 'events' : reason === 'refused' ? 'an earlier event' : 'event')
  const isOnItsWay = /^(refused|too_old|outbox_full)$/.test(reason ?? '')
  return {
    name,
    outcome,
    code: `${code ?? reason}`,
    at: where === undefined ? undefined : toText(where),
    event: isOnItsWay && payload !== undefined ? shortPayload(payload) : undefined,
    why,
    issues: code
      ? []
      : (error?.issues ?? []).map((issue) => ({
          path: issue.path,
          message: issueText(issue, payload),
        })),
    seen: [status, message].filter(Boolean).join(' '),
    fix: fix && [suggest(code, notice), fixOf(notice) ?? fix].filter(Boolean).join(' '),
  }
}

/** The text for a developer's console: the event that was not sent, its place, the reason and the fix, one line each. */
export function explain(notice: Explained): string {
  const { name, outcome, code, at, event, why, issues, seen, fix } = toExplanation(notice)
  return [
    `track: ${name} ${outcome} (${code})`,
    at && `  at: ${at}`,
    event && `  event: ${event}`,
    why && `  why: ${why}`,
    ...issues.map(({ path, message }) => `  ${path || 'payload'}: ${message}`),
    seen && `  seen: ${seen}`,
    fix && `  fix: ${fix}`,
  ]
    .filter(Boolean)
    .join('\n')
}
