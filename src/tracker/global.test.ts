// @vitest-environment happy-dom
import type { InferInput } from 'valibot'
import { expect, expectTypeOf, test, vi } from 'vitest'
import { EVENT_NAMES } from '../contract/eventNames.ts'
import type { createEventSchemas } from '../contract/events.ts'
import type { optionalText } from '../contract/fields.ts'
import type { TrackingOperation } from '../contract/payloads.ts'
import type { Config } from './config.ts'
import type { TrackApi, TrackDropReason, TrackNotice, TrackOutcome } from './global.d.ts'
import { main } from './main.ts'
import type { Notice } from './notices.ts'
import type { Outcome } from './track.ts'

/*
 * `tsc -b` checks this file: the types of the helpers accept the payloads that the contract's page form accepts. Fields
 * that the script fills in are optional.
 */

type PageForm = ReturnType<typeof createEventSchemas<typeof optionalText>>
type Given<O extends TrackingOperation> = NonNullable<Parameters<TrackApi[O]>[0]>
/** The fields that the script fills in. */
type Filled = 'did' | 'event' | 'url' | 'http_user_agent' | 'remote_addr' | 'source'
type Names = 'firstname' | 'lastname' | 'phone'
/** The payload in the contract's page form, without the fields that the script fills in. */
type Taken<O extends TrackingOperation> = Omit<InferInput<PageForm[O]>, Filled>

test('every helper takes the fields of its operation, and no others', () => {
  type Fields = { [O in TrackingOperation]: Exclude<keyof Given<O>, Filled> }
  type Expected = { [O in TrackingOperation]: Exclude<keyof InferInput<PageForm[O]>, Filled> }
  expectTypeOf<Fields>().toEqualTypeOf<Expected>()
})

test('the typed fields of a helper are valid', () => {
  type Lines = 'addToCart' | 'removeFromCart' | 'addToWishlist' | 'removeFromWishlist'
  expectTypeOf<Pick<Given<'search'>, 'search_term'>>().toEqualTypeOf<Taken<'search'>>()
  expectTypeOf<Pick<Given<'sendCustom'>, 'email'>>().toEqualTypeOf<Taken<'sendCustom'>>()
  expectTypeOf<Required<Pick<Given<'setEmail'>, 'email_address' | Names>>>().toEqualTypeOf<
    Taken<'setEmail'>
  >()
  expectTypeOf<Given<Lines>['quantity']>().toEqualTypeOf<Taken<Lines>['quantity']>()
  expectTypeOf<Given<Lines>['variation']>().toEqualTypeOf<Taken<Lines>['variation']>()
  // The helper's type also allows text without digits. The contract checks that at run time.
  expectTypeOf<Taken<Lines>['product_id']>().toExtend<Given<Lines>['product_id']>()
  // The helper also takes a number, which it converts to text.
  expectTypeOf<Given<'viewProduct'>['product_id']>().toEqualTypeOf<string | number>()
})

test('types of outcomes, notices and reasons are those of the script', () => {
  expectTypeOf<Outcome>().toExtend<TrackOutcome>()
  expectTypeOf<keyof Notice>().toEqualTypeOf<keyof TrackNotice>()
  expectTypeOf<NonNullable<Notice['reason']>>().toEqualTypeOf<TrackDropReason>()
})

/** Only for the compiler. Never called. */
void function mustNotCompile(track: TrackApi) {
  track.viewHomepage()
  track.initiateCheckout({ source: null })
  track.viewProduct({ product_id: 42 })
  track.addToCart({ product_id: '42', quantity: 1, variation: { id: '42', sku: '42' } })
  track.setEmail({ email_address: 'a@b.example' })
  // @ts-expect-error a product view names its product
  track.viewProduct()
  // @ts-expect-error a product view names its product
  track.viewProduct({})
  // @ts-expect-error there is no such field
  track.viewProduct({ product_id: 1, name: 'Mug' })
  // @ts-expect-error the variation is required
  track.addToCart({ product_id: 1, quantity: 1 })
  // @ts-expect-error a quantity is a number
  track.addToCart({ product_id: 1, quantity: '1', variation: { id: '1', sku: '1' } })
  // @ts-expect-error an id of a variation is text
  track.addToCart({ product_id: 1, quantity: 1, variation: { id: 1, sku: '1' } })
  // @ts-expect-error the field is called search_term
  track.search({ term: 'mug' })
  // @ts-expect-error the address is required
  track.setEmail({ firstname: 'Ann' })
  // @ts-expect-error a custom event has a name
  track.sendCustom({ email: 'a@b.example' })
  // @ts-expect-error a custom event's address is called email
  track.sendCustom({ event: 'quiz', email_address: 'a@b.example' })
  // @ts-expect-error there is no such kind
  track.on('kept', () => {})
  // @ts-expect-error only reset changes the device id
  track.did = 'x'
}

test('the helpers that main.ts publishes are those in global.d.ts', async () => {
  const config: Config = { key: 'DEMOSHOP', base: 'http://127.0.0.1:1', pageViews: 'off' }
  vi.stubGlobal('__version__', '1.2.3')
  vi.stubGlobal('__deviceCookie__', false)
  const { fetch } = globalThis
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('offline')))
  main(config, {})
  vi.stubGlobal('fetch', fetch)
  const { track } = window
  // A member that is not in this list is a compile error.
  const typed = {
    viewHomepage: 'function',
    setEmail: 'function',
    viewProduct: 'function',
    addToCart: 'function',
    removeFromCart: 'function',
    addToWishlist: 'function',
    removeFromWishlist: 'function',
    initiateCheckout: 'function',
    search: 'function',
    sendCustom: 'function',
    did: 'string',
    version: 'string',
    flush: 'function',
    on: 'function',
    reset: 'function',
    consent: 'function',
    consentState: 'string',
    debug: 'function',
  } satisfies { [K in keyof TrackApi]: string }
  const published = Object.entries(track).map(([name, value]) => [name, typeof value])
  expect(Object.fromEntries(published)).toEqual(typed)
  expect(Object.keys(EVENT_NAMES).every((operation) => operation in typed)).toBe(true)
  expect(track.version).toBe('1.2.3')
})
