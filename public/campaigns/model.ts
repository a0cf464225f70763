/** The logic of the campaigns page without the DOM: addresses, the form's values, texts. */
import type { CampaignRecord } from '../../src/contract/answers.ts'
import type { Campaign } from '../../src/contract/index.ts'
import { number } from '../operator/numbers.ts'

/** A campaign in a list: without its HTML. */
export type CampaignHead = Omit<CampaignRecord, 'content'>

/** The channels, in the order in which they are offered. */
export const TYPES: ReadonlyMap<string, string> = new Map([
  ['email', 'E-mail'],
  ['sms', 'SMS'],
  ['push', 'Push'],
])

export const isType = (type: string): type is Campaign['type'] => TYPES.has(type)

/** Campaigns per page of the list. */
export const PAGE_SIZE = 20

/** Length of the longest search, characters, so that addresses stay short. */
export const MAX_SEARCH = 200

/** The parameters that assign a visit to a campaign. */
export const UTM = ['utm_campaign', 'utm_medium', 'utm_source'] as const
type Tracking = Campaign['tracking']

/** A page of the list. */
export type ListPlace = {
  readonly view: 'list'
  readonly search: string
  /** A channel; '' for all. */
  readonly type: string
  /** From 1. */
  readonly page: number
}
/** A view of the page with its parameters; the address contains them. */
export type Place =
  | ListPlace
  | { readonly view: 'new' }
  | {
      readonly view: 'campaign'
      readonly id: string /** Whether its report counts bots too. */
      readonly bots: boolean
    }

/** The whole list. */
export const LIST: ListPlace = { view: 'list', search: '', type: '', page: 1 }

export function readPlace(query: string): Place {
  const params = new URLSearchParams(query)
  const id = params.get('id')
  if (id) return { view: 'campaign', id, bots: params.get('bots') === 'include' }
  if (params.has('new')) return { view: 'new' }
  const page = params.get('page') ?? ''
  const type = params.get('type') ?? ''
  return {
    view: 'list',
    search: (params.get('search') ?? '').slice(0, MAX_SEARCH),
    type: isType(type) ? type : '',
    page: /^[1-9]\d{0,8}$/.test(page) ? Number(page) : 1,
  }
}

/** The query of a place, always with the customer. Defaults are left out. */
export function writePlace(customerId: string, place: Place): string {
  const params = new URLSearchParams({ customer: customerId })
  if (place.view === 'campaign') {
    params.set('id', place.id)
    if (place.bots) params.set('bots', 'include')
  }
  if (place.view === 'new') params.set('new', '')
  if (place.view === 'list') {
    if (place.search) params.set('search', place.search)
    if (place.type) params.set('type', place.type)
    if (place.page > 1) params.set('page', String(place.page))
  }
  return `?${params}`
}

/** The shop's address with a campaign's utm values, which replace existing ones. */
export function linkOf(shop: string, tracking: Partial<Tracking>): string {
  const url = new URL(shop)
  for (const name of UTM) url.searchParams.set(name, tracking[name] ?? '')
  return url.href
}

/** An address as the value of an HTML attribute, with quotation marks. */
export const attributeOf = (href: string): string =>
  `"${href.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`

type NamedHead = Pick<CampaignHead, 'id' | 'tracking'> & {
  readonly subject: Pick<CampaignHead['subject'], 'name'>
}

/**
 * The names of other campaigns with the same utm values, newest first: their visits are counted together.
 *
 * @param id Id of the campaign itself; '' if it is not created yet.
 */
export const campaignsWithSameUtm = (
  heads: readonly NamedHead[],
  tracking: Tracking,
  id = '',
): string[] =>
  heads
    .filter((head) => head.id !== id && UTM.every((name) => head.tracking[name] === tracking[name]))
    .map(({ subject }) => subject.name)

/** The first three names, quoted, and the number of the others. */
export function quoteNames(names: readonly string[]): string {
  const some = names.slice(0, 3).map((name) => `“${shorten(name, 60)}”`)
  const left = names.length - some.length
  return some.join(', ') + (left > 0 ? ` and ${number(left)} more` : '')
}

/** A name as a utm value: `Autumn mugs, now!` is `autumn-mugs-now`. */
export const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')

/** The values of the form, all of them text, by their paths in the contract. `scheduling.send_at` has two. */
export type Values = ReturnType<typeof startValues>
export type Path = keyof Values

/** The values of a new form. */
export function startValues(now: Date) {
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1)
  return {
    type: 'email',
    mode: 'regular',
    'sender.name': '',
    'sender.sender': '',
    'sender.reply_to': '',
    'audience.audience_type': 'all',
    'audience.smart_sending': 'true',
    'subject.name': '',
    'subject.subject_line': '',
    'subject.preview_text': '',
    'content.html': '',
    'scheduling.date': dayOf(tomorrow),
    'scheduling.time': '09:00',
    'scheduling.use_optimal_time': '0',
    'scheduling.optimize_for': 'opening',
    'tracking.utm_campaign': '',
    'tracking.utm_medium': 'email',
    'tracking.utm_source': 'newsletter',
  }
}

/** A day in the operator's time zone, in the format of a date field. */
function dayOf(date: Date): string {
  const two = (part: number) => String(part).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** Says which of date and time are missing, as a sentence; '' if both are filled in. */
export function missingOf(date: string, time: string): string {
  if (!date && !time) return 'The day and the time are missing.'
  if (!date) return 'The day is missing.'
  return time ? '' : 'The time is missing.'
}

/** True if a date and time have passed, in the operator's time zone. */
export const isPast = (date: string, time: string, now: Date): boolean =>
  new Date(`${date}T${time}`) < now

/** A payload for create, not yet checked: the gateway checks it by the contract. */
export type NewCampaign = ReturnType<typeof toCampaign>

/** The form's values as a payload for create. An empty reply address becomes the sender's address. */
export function toCampaign(values: Partial<Values>) {
  const text = (path: Path) => (values[path] ?? '').trim()
  return {
    type: text('type'),
    mode: text('mode'),
    sender: {
      name: text('sender.name'),
      sender: text('sender.sender'),
      reply_to: text('sender.reply_to') || text('sender.sender'),
    },
    audience: {
      audience_type: text('audience.audience_type'),
      smart_sending: values['audience.smart_sending'] === 'true',
    },
    subject: {
      name: text('subject.name'),
      subject_line: text('subject.subject_line'),
      preview_text: text('subject.preview_text'),
    },
    content: { html: values['content.html'] ?? '' },
    scheduling: {
      send_at: `${text('scheduling.date')} ${text('scheduling.time')}`.trim(),
      use_optimal_time: values['scheduling.use_optimal_time'] === '1' ? 1 : 0,
      optimize_for: text('scheduling.optimize_for'),
    },
    tracking: {
      utm_campaign: text('tracking.utm_campaign'),
      utm_medium: text('tracking.utm_medium'),
      utm_source: text('tracking.utm_source'),
    },
  }
}

/** A report's events, highest count first. Not an object: it would put names that look like numbers first. */
export const namesOf = (events: Readonly<Record<string, number>>): [string, number][] =>
  Object.entries(events).sort(([a, most], [b, least]) => least - most || (a < b ? -1 : 1))

/** Cuts the middle out of a text longer than `most` characters, so that both ends stay readable. */
export function shorten(text: string, most: number): string {
  const characters = [...text]
  if (characters.length <= most) return text
  const end = Math.floor(most / 2)
  return `${characters.slice(0, most - end - 1).join('')}…${characters.slice(-end).join('')}`
}

/** The kind of an event name, for its colour; unknown names are `sendCustom`. */
export function kindOfName(name: string): string {
  const known = [...EVENT_KINDS].find(([end]) => name === end || name.endsWith(`_${end}`))
  return known?.[1] ?? 'sendCustom'
}

const EVENT_KINDS = new Map([
  ['view_homepage', 'viewHomepage'],
  ['view_page', 'page'],
  ['view_category', 'page'],
  ['view_brand', 'page'],
  ['view_product', 'viewProduct'],
  ['search', 'search'],
  ['add_to_wishlist', 'addToWishlist'],
  ['remove_from_wishlist', 'removeFromWishlist'],
  ['add_to_cart', 'addToCart'],
  ['remove_from_cart', 'removeFromCart'],
  ['initiate_checkout', 'initiateCheckout'],
  ['set_email', 'setEmail'],
  ['save_order', 'saveOrder'],
  ['update_order_status', 'updateOrderStatus'],
  ['add_subscriber', 'addSubscriber'],
  ['remove_subscriber', 'removeSubscriber'],
])

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `2026-11-03` or `2026-11-03 09:00`, without a time zone, becomes `3 Nov 2026` or `3 Nov 2026, 09:00`. */
export function showMoment(text: string): string {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d))?/.exec(text)
  if (!match) return text
  const day = `${Number(match[3])} ${MONTHS[Number(match[2]) - 1]} ${match[1]}`
  return match[4] ? `${day}, ${match[4]}` : day
}

/** `3 Nov`: a day on an axis. */
export const showDay = (date: string): string =>
  `${Number(date.slice(8, 10))} ${MONTHS[Number(date.slice(5, 7)) - 1]}`

/** A share in whole percent. Only a share of nothing is shown as 0 %, and only a full one as 100 %. */
export function percent(part: number, whole: number): string {
  if (!whole) return '–'
  const share = (part / whole) * 100
  if (share > 0 && share < 1) return '<1 %'
  if (share > 99 && share < 100) return '99 %'
  return `${Math.round(share)} %`
}

/** The words of the report for orders without a status, and for the rarest statuses together. */
const STATUS_NAMES: ReadonlyMap<string, string> = new Map([
  ['(none)', 'no status yet'],
  ['(other)', 'all other statuses'],
])

/** A status as the report shows it. It is any text of the shop, such as `constructor`. */
export const nameOfStatus = (status: string): string => STATUS_NAMES.get(status) ?? status
