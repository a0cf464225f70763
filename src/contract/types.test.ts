import type { InferInput, InferOutput } from 'valibot'
import { expectTypeOf, test } from 'vitest'
import type {
  createSchema,
  getEmailReportSchema,
  getLatestCampaignSchema,
  listSchema,
  sendCustomApiSchema,
} from './campaigns.ts'
import type { createEventSchemas } from './events.ts'
import type { text } from './fields.ts'
import type {
  Campaign,
  CampaignFilter,
  CustomApiEvent,
  EventInput,
  EventPayload,
  Operation,
  Order,
  OrderPayload,
  OrderStatus,
  Payload,
  ReportQuery,
  Subscriber,
  TrackingOperation,
  UnsubscribedPeriod,
  Unsubscriber,
} from './index.ts'
import { toStoredOrder, validate } from './index.ts'
import type { saveOrderSchema, updateOrderStatusSchema } from './orders.ts'
import type {
  addSubscriberSchema,
  removeSubscriberSchema,
  unsubscribedEmailsSchema,
} from './subscribers.ts'
import type { serveJavascriptSchema } from './trackingKey.ts'

/*
 * Checked by `tsc -b`: the types of the schemas, and code that must not compile. An unused `@ts-expect-error` is an
 * error too.
 */

type Optional = string | null | undefined

type Page = {
  did: string
  event: string
  url: string
  http_user_agent: string
  remote_addr: string
  source?: Optional
}

type Line = Page & {
  product_id: number
  quantity: number
  variation: { id: string; sku: string }
}

/** Intersections flattened, so that types are compared by their fields. */
type Flat<T> = { [K in keyof T]: T[K] }
type DeepFlat<T> = T extends object ? { [K in keyof T]: DeepFlat<T[K]> } : T

/** Whether two types are the same, also in what is optional. */
type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

const page = {
  did: 'd',
  event: 'e',
  url: 'https://a.example/',
  http_user_agent: 'A',
  remote_addr: '::1',
}
const line = { ...page, product_id: 1, quantity: 1, variation: { id: '1', sku: 's' } }

/** These functions do nothing at run time. The compiler checks their arguments. */
const input = <O extends TrackingOperation>(_payload: EventInput<O>) => {}
const clean = <O extends Operation>(_payload: Payload<O>) => {}

test('the operations', () => {
  expectTypeOf<Operation>().toEqualTypeOf<
    | 'list'
    | 'create'
    | 'getEmailReport'
    | 'getLatestCampaign'
    | 'sendCustomApi'
    | 'serveJavascript'
    | 'saveOrder'
    | 'updateOrderStatus'
    | 'addSubscriber'
    | 'removeSubscriber'
    | 'unsubscribedEmails'
    | TrackingOperation
  >()
  expectTypeOf<TrackingOperation>().toEqualTypeOf<
    | 'viewHomepage'
    | 'setEmail'
    | 'viewProduct'
    | 'addToCart'
    | 'removeFromCart'
    | 'addToWishlist'
    | 'removeFromWishlist'
    | 'initiateCheckout'
    | 'search'
    | 'sendCustom'
  >()
  // @ts-expect-error there is no such operation
  validate('viewCategory', {})
})

type FullSchemas = ReturnType<typeof createEventSchemas<typeof text>>

test('the types that are written out are those of the schemas', () => {
  type Same<O extends TrackingOperation> = {
    readonly input: Equal<DeepFlat<InferInput<FullSchemas[O]>>, DeepFlat<EventInput<O>>>
    readonly output: Equal<DeepFlat<InferOutput<FullSchemas[O]>>, DeepFlat<EventPayload<O>>>
  }
  type Unlike = {
    [O in TrackingOperation]: Same<O> extends { input: true; output: true } ? never : O
  }[TrackingOperation]
  expectTypeOf<Unlike>().toEqualTypeOf<never>()
  expectTypeOf<InferInput<typeof listSchema>>().toEqualTypeOf<CampaignFilter>()
  expectTypeOf<InferOutput<typeof listSchema>>().toEqualTypeOf<Payload<'list'>>()
  expectTypeOf<InferInput<typeof createSchema>>().toEqualTypeOf<Campaign>()
  expectTypeOf<InferOutput<typeof createSchema>>().toEqualTypeOf<Payload<'create'>>()
  expectTypeOf<InferOutput<typeof getEmailReportSchema>>().toEqualTypeOf<
    Payload<'getEmailReport'>
  >()
  expectTypeOf<Payload<'getEmailReport'>>().toEqualTypeOf<ReportQuery>()
  expectTypeOf<InferOutput<typeof getLatestCampaignSchema>>().toEqualTypeOf<
    Payload<'getLatestCampaign'>
  >()
  expectTypeOf<InferOutput<typeof sendCustomApiSchema>>().toEqualTypeOf<CustomApiEvent>()
  expectTypeOf<InferOutput<typeof serveJavascriptSchema>>().toEqualTypeOf<
    Payload<'serveJavascript'>
  >()
})

test('the types of orders and subscribers are those of the schemas', () => {
  expectTypeOf<InferInput<typeof saveOrderSchema>>().toEqualTypeOf<Order>()
  expectTypeOf<InferOutput<typeof saveOrderSchema>>().toEqualTypeOf<Payload<'saveOrder'>>()
  expectTypeOf<InferInput<typeof updateOrderStatusSchema>>().toEqualTypeOf<OrderStatus>()
  expectTypeOf<InferOutput<typeof updateOrderStatusSchema>>().toEqualTypeOf<
    Payload<'updateOrderStatus'>
  >()
  expectTypeOf<InferInput<typeof addSubscriberSchema>>().toEqualTypeOf<Subscriber>()
  expectTypeOf<InferOutput<typeof addSubscriberSchema>>().toEqualTypeOf<Payload<'addSubscriber'>>()
  expectTypeOf<InferInput<typeof removeSubscriberSchema>>().toEqualTypeOf<Unsubscriber>()
  expectTypeOf<InferOutput<typeof removeSubscriberSchema>>().toEqualTypeOf<
    Payload<'removeSubscriber'>
  >()
  expectTypeOf<InferInput<typeof unsubscribedEmailsSchema>>().toEqualTypeOf<UnsubscribedPeriod>()
  expectTypeOf<InferOutput<typeof unsubscribedEmailsSchema>>().toEqualTypeOf<
    Payload<'unsubscribedEmails'>
  >()
  const stored = (order: Payload<'saveOrder'>) => toStoredOrder(order, 'EUR')
  expectTypeOf<
    Extract<ReturnType<typeof stored>, { ok: true }>['payload']
  >().toEqualTypeOf<OrderPayload>()
})

test('saveOrder, updateOrderStatus, addSubscriber, removeSubscriber', () => {
  const order = (_order: Order) => {}
  order({ number: 1, total_value: '1.00', products: [] })
  // An order as it is stored may be sent again.
  const again = (stored: OrderPayload) => order(stored)
  void again
  // @ts-expect-error products are missing
  order({ number: 1, total_value: 1 })
  // @ts-expect-error a price is a number or text
  order({ number: 1, total_value: 1, products: [{ product_id: 1, price: null, quantity: 1 }] })
  // @ts-expect-error the clean number is text
  clean<'saveOrder'>({ number: 1, total_value: 1, products: [] })
  // @ts-expect-error order_status is missing
  clean<'updateOrderStatus'>({ order_number: '1' })
  // @ts-expect-error tags are a list
  clean<'addSubscriber'>({ email: 'a@b.example', add_tags: 'a,b' })
  // @ts-expect-error email is missing
  clean<'removeSubscriber'>({ channels: ['email'] })
})

test('the stored payload is what validate returns', () => {
  expectTypeOf<Payload<'search'>>().toEqualTypeOf<EventPayload<'search'>>()
  const checked = validate('addToCart', line)
  if (checked.ok) expectTypeOf(checked.payload.product_id).toEqualTypeOf<number>()
  else expectTypeOf(checked.error.issues[0]?.path).toEqualTypeOf<string | undefined>()
  // @ts-expect-error only a valid check has a payload
  checked.payload
})

test('viewHomepage, initiateCheckout', () => {
  expectTypeOf<Flat<Payload<'viewHomepage'>>>().toEqualTypeOf<Page>()
  expectTypeOf<Flat<Payload<'initiateCheckout'>>>().toEqualTypeOf<Page>()
  input<'viewHomepage'>(page)
  input<'viewHomepage'>({ ...page, source: null })
  // @ts-expect-error did is missing
  input<'viewHomepage'>({ event: 'e', url: 'u', http_user_agent: 'A', remote_addr: '::1' })
  // @ts-expect-error the full form needs the address
  input<'initiateCheckout'>({ did: 'd', event: 'e', url: 'u', http_user_agent: 'A' })
  // @ts-expect-error source is text
  input<'viewHomepage'>({ ...page, source: 7 })
  // @ts-expect-error no operation takes this
  input<'viewHomepage'>({ ...page, category: 'lamps' })
})

test('viewProduct', () => {
  expectTypeOf<Flat<Payload<'viewProduct'>>>().toEqualTypeOf<Flat<Page & { product_id: string }>>()
  input<'viewProduct'>({ ...page, product_id: '42' })
  // @ts-expect-error product_id is text here
  input<'viewProduct'>({ ...page, product_id: 42 })
  // @ts-expect-error product_id is missing
  input<'viewProduct'>(page)
})

test('search', () => {
  expectTypeOf<Flat<Payload<'search'>>>().toEqualTypeOf<Flat<Page & { search_term: string }>>()
  // @ts-expect-error search_term is text
  input<'search'>({ ...page, search_term: ['a'] })
  // @ts-expect-error search_term is missing
  input<'search'>(page)
})

test('setEmail', () => {
  expectTypeOf<Flat<Payload<'setEmail'>>>().toEqualTypeOf<
    Flat<Page & { email_address: string; firstname: string; lastname: string; phone: string }>
  >()
  input<'setEmail'>({
    ...page,
    email_address: 'a@b.example',
    firstname: '',
    lastname: '',
    phone: '',
  })
  // @ts-expect-error phone is missing
  input<'setEmail'>({ ...page, email_address: 'a@b.example', firstname: '', lastname: '' })
  // @ts-expect-error firstname may be empty, not null
  input<'setEmail'>({ ...page, email_address: 'a', firstname: null, lastname: '', phone: '' })
  // @ts-expect-error the field is email_address
  input<'setEmail'>({ ...page, email: 'a@b.example', firstname: '', lastname: '', phone: '' })
})

test('sendCustom, sendCustomApi', () => {
  expectTypeOf<Flat<Payload<'sendCustom'>>>().toEqualTypeOf<Flat<Page & { email: string }>>()
  expectTypeOf<Payload<'sendCustomApi'>>().toEqualTypeOf<{ email: string; event: string }>()
  expectTypeOf<Payload<'sendCustomApi'>>().toEqualTypeOf<CustomApiEvent>()
  // @ts-expect-error email is missing
  input<'sendCustom'>(page)
  // @ts-expect-error event is missing
  clean<'sendCustomApi'>({ email: 'a@b.example' })
  // @ts-expect-error it has no tracking fields
  clean<'sendCustomApi'>({ email: 'a@b.example', event: 'e', did: 'd' })
})

test('addToCart, removeFromCart, addToWishlist, removeFromWishlist', () => {
  expectTypeOf<Flat<Payload<'addToCart'>>>().toEqualTypeOf<Flat<Line>>()
  expectTypeOf<Flat<Payload<'removeFromCart'>>>().toEqualTypeOf<Flat<Line>>()
  expectTypeOf<Flat<Payload<'addToWishlist'>>>().toEqualTypeOf<Flat<Line>>()
  expectTypeOf<Flat<Payload<'removeFromWishlist'>>>().toEqualTypeOf<Flat<Line>>()
  input<'addToCart'>(line)
  input<'addToCart'>({ ...line, product_id: '42' })
  // @ts-expect-error product_id may be digits, but not other text
  input<'addToCart'>({ ...line, product_id: 'MUG-BL' })
  // @ts-expect-error the stored product_id is a number
  clean<'addToCart'>({ ...line, product_id: '42' })
  // @ts-expect-error quantity is a number
  input<'removeFromCart'>({ ...line, quantity: '1' })
  // @ts-expect-error sku is missing
  input<'addToWishlist'>({ ...line, variation: { id: '1' } })
  // @ts-expect-error variation is missing
  input<'removeFromWishlist'>({ ...page, product_id: 1, quantity: 1 })
})

test('list', () => {
  expectTypeOf<Payload<'list'>>().toEqualTypeOf<{
    filters?: string | undefined
    search?: string | undefined
    type?: string | undefined
    start_date?: string | undefined
    page?: string | undefined
    limit?: string | undefined
  }>()
  expectTypeOf<CampaignFilter['page']>().toEqualTypeOf<Optional>()
  // @ts-expect-error a page is text
  clean<'list'>({ page: 1 })
  // @ts-expect-error a filter that is null is left out
  clean<'list'>({ search: null })
})

test('create', () => {
  expectTypeOf<Payload<'create'>>().toEqualTypeOf<Campaign>()
  expectTypeOf<Campaign>().toEqualTypeOf<{
    type: 'sms' | 'email' | 'push'
    mode: 'ecommerce' | 'regular' | 'plaintext'
    sender: { name: string; sender: string; reply_to: string }
    audience: { audience_type: 'all'; smart_sending: boolean }
    subject: { name: string; subject_line: string; preview_text: string }
    content: { html: string }
    scheduling: { send_at: string; use_optimal_time: 0 | 1; optimize_for: 'opening' | 'buying' }
    tracking: { utm_campaign: string; utm_medium: string; utm_source: string }
  }>()
  const scheduling = { send_at: 's', use_optimal_time: 1, optimize_for: 'buying' } as const
  const change = (_part: Partial<Campaign>) => {}
  change({ type: 'push', mode: 'plaintext', scheduling })
  // @ts-expect-error there is no such channel
  change({ type: 'fax' })
  // @ts-expect-error a boolean is not 0 or 1
  change({ scheduling: { ...scheduling, use_optimal_time: true } })
  // @ts-expect-error the only audience is all
  change({ audience: { audience_type: 'some', smart_sending: true } })
  // @ts-expect-error reply_to is missing
  change({ sender: { name: 'n', sender: 'a@b.example' } })
  // @ts-expect-error nothing may be missing
  clean<'create'>({ type: 'sms' })
})

test('getEmailReport, getLatestCampaign, serveJavascript', () => {
  expectTypeOf<Payload<'getEmailReport'>>().toEqualTypeOf<{
    id: string
    bots?: 'include' | 'exclude' | null | undefined
  }>()
  expectTypeOf<Payload<'getLatestCampaign'>>().toEqualTypeOf<{
    limit?: number | null | undefined
  }>()
  expectTypeOf<Payload<'serveJavascript'>>().toEqualTypeOf<{ trackingKey: string }>()
  clean<'getLatestCampaign'>({})
  // @ts-expect-error an id is text
  clean<'getEmailReport'>({ id: 1 })
  // @ts-expect-error a limit is a number
  clean<'getLatestCampaign'>({ limit: '5' })
  // @ts-expect-error the key is required
  clean<'serveJavascript'>({})
})
