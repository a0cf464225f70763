// @vitest-environment happy-dom

import { expect, test } from 'vitest'
import { ValidationException } from '../../contract/index.ts'
import type { TrackNotice } from '../global.d.ts'
import { explain } from './explain.ts'
import { createModel, type EventKind, isProblem, type Life, stateOf } from './model.ts'

type Told = readonly [kind: EventKind, notice: TrackNotice, at: number]

const search = {
  id: 'a',
  key: 'K',
  operation: 'search',
  payload: { event: 'search', search_term: 'mug' },
}
const LATER = { id: 'a', key: 'K' }
const error = new ValidationException([{ path: 'search_term', message: 'Expected text 1-2048' }])

function tell(...told: readonly Told[]) {
  const model = createModel((id) =>
    id === 'old' ? '{"event":"view_page","url":"https://s.example/a"}' : undefined,
  )
  for (const [kind, notice, at] of told) model.add(kind, notice, at)
  return model
}
const only = (...told: readonly Told[]) => {
  const [event] = tell(...told).events()
  return { event, life: event?.lives[0] as Life }
}

/** The life of an event, as its notices come, and what the panel says of it. */
test.each<[string, readonly Told[], tone: string, text: string, steps: string]>([
  ['kept', [['accepted', search, 5]], 'busy', 'kept', 'accepted'],
  [
    'on its way',
    [
      ['accepted', search, 5],
      ['sent', LATER, 6],
    ],
    'busy',
    'being sent',
    'accepted sent',
  ],
  [
    'delivered',
    [
      ['accepted', search, 5],
      ['sent', LATER, 6],
      ['delivered', LATER, 48],
    ],
    'good',
    'delivered · 43 ms',
    'accepted sent delivered',
  ],
  [
    'held by an answer',
    [
      ['accepted', search, 5],
      ['sent', LATER, 6],
      ['held', { ...LATER, status: 403 }, 9],
    ],
    'warn',
    'held · 403',
    'accepted sent held',
  ],
  [
    'held without an answer, then delivered',
    [
      ['accepted', search, 5],
      ['held', { ...LATER, status: 0 }, 9],
      ['sent', LATER, 2_000],
      ['delivered', LATER, 2_005],
    ],
    'good',
    'delivered · 2000 ms',
    'accepted held sent delivered',
  ],
  [
    'held without an answer',
    [
      ['accepted', search, 5],
      ['held', { ...LATER, status: 0 }, 9],
    ],
    'warn',
    'held · no answer',
    'accepted held',
  ],
  [
    'waits for consent',
    [
      ['accepted', search, 5],
      ['held', { ...LATER, reason: 'no_consent' }, 6],
    ],
    'warn',
    'waits for consent',
    'accepted waits',
  ],
  [
    'refused by the gateway',
    [
      ['accepted', search, 5],
      ['dropped', { ...LATER, reason: 'refused', status: 422, message: 'no' }, 9],
    ],
    'bad',
    'refused',
    'accepted dropped',
  ],
  [
    'invalid',
    [['dropped', { ...search, reason: 'invalid', error }, 5]],
    'bad',
    'invalid',
    'dropped',
  ],
  [
    'duplicate',
    [['dropped', { ...search, reason: 'duplicate' }, 5]],
    'calm',
    'duplicate',
    'dropped',
  ],
  ['too old', [['dropped', { ...LATER, reason: 'too_old' }, 5]], 'bad', 'too_old', 'dropped'],
  [
    'no room',
    [['dropped', { ...search, reason: 'outbox_full' }, 5]],
    'bad',
    'outbox_full',
    'dropped',
  ],
  [
    'no consent',
    [['dropped', { ...search, reason: 'no_consent' }, 5]],
    'calm',
    'no_consent',
    'dropped',
  ],
  ['ignored', [['dropped', { ...search, reason: 'ignored' }, 5]], 'calm', 'ignored', 'dropped'],
  [
    'sent in part',
    [['dropped', { operation: 'addToCart', code: 'ga4-variant' }, 5]],
    'warn',
    'incomplete',
    'note',
  ],
])('an event that is %s', (_, told, tone, text, steps) => {
  const { event, life } = only(...told)
  expect(stateOf(life)).toEqual({ tone, text })
  expect(life.steps.map(({ kind }) => kind).join(' ')).toBe(steps)
  expect(event && isProblem(event)).toBe(/bad|warn/.test(tone))
})

test('an event has its reporter, its element or push, and its subject', () => {
  const element = document.createElement('button')
  expect(
    only(['accepted', { ...search, from: 'attribute', where: element }, 5]).event,
  ).toMatchObject({
    number: 1,
    operation: 'search',
    ownName: '',
    subject: 'mug',
    from: 'attribute',
    element,
    pushed: undefined,
  })
  const push = { event: '__sm__add_to_cart' }
  const { event } = only([
    'accepted',
    {
      id: 'b',
      key: 'K',
      operation: 'addToCart',
      payload: { event: 'add_to_cart', product_id: 12, quantity: 2 },
      from: 'dataLayer',
      where: push,
    },
    5,
  ])
  push.event = 'changed'
  expect(event).toMatchObject({
    subject: '#12 × 2',
    element: undefined,
    pushed: '{\n  "event": "__sm__add_to_cart"\n}',
  })
})

test('a payload begins with what matters', () => {
  const payload = { did: 'x', event: 'search', url: 'https://s.example/', search_term: 'mug' }
  expect(
    Object.keys(JSON.parse(only(['accepted', { ...search, payload }, 5]).life.payload)),
  ).toEqual(['event', 'search_term', 'did', 'url'])
})

test('a page view has its own name, and the path as its subject', () => {
  const payload = { event: 'view_page', url: 'https://s.example/a?b=1' }
  const { event } = only(['accepted', { id: 'b', key: 'K', operation: 'viewHomepage', payload }, 5])
  expect(event).toMatchObject({ ownName: 'view_page', subject: '/a?b=1' })
})

test('an event has a life for each key', () => {
  const model = tell(
    ['accepted', search, 5],
    [
      'dropped',
      { ...search, key: 'L', payload: { event: 'de_search' }, reason: 'invalid', error },
      5,
    ],
    ['delivered', LATER, 9],
  )
  const [event] = model.events()
  expect(model.events()).toHaveLength(1)
  expect(event?.lives.map((life) => [life.key, stateOf(life).text])).toEqual([
    ['K', 'delivered · 4 ms'],
    ['L', 'invalid'],
  ])
  expect(event?.lives[1]?.payload).toContain('de_search')
})

test('a drop of an accepted event is explained with its operation and payload', () => {
  const { life } = only(
    ['accepted', search, 5],
    ['dropped', { ...LATER, reason: 'refused', status: 422 }, 6],
  )
  expect(life.problem).toMatchObject({
    operation: 'search',
    payload: search.payload,
    reason: 'refused',
    status: 422,
  })
})

test('an event that was delivered after all has no problem', () => {
  const { life } = only(
    ['accepted', search, 5],
    ['held', { ...LATER, status: 503 }, 6],
    ['delivered', LATER, 7],
  )
  expect(life.problem).toBeUndefined()
})

const SAME = { event: 'add_to_cart', product_id: 12, quantity: 1, variation: { id: '1', sku: 'a' } }
const add = (id: string, payload: object, key = 'K'): TrackNotice => ({
  id,
  key,
  operation: 'addToCart',
  payload,
})
const repeat = (id: string, payload: object, key = 'K'): TrackNotice => ({
  ...add(id, payload, key),
  reason: 'duplicate',
})

test.each<[string, readonly Told[], number | undefined]>([
  [
    'the event with the same product',
    [
      ['accepted', add('a', SAME), 1],
      ['dropped', repeat('b', { ...SAME, quantity: 2 }), 2],
    ],
    1,
  ],
  [
    'the last of them',
    [
      ['accepted', add('a', SAME), 1],
      ['accepted', add('b', SAME), 2],
      ['dropped', repeat('c', SAME), 3],
    ],
    2,
  ],
  [
    'not another product',
    [
      ['accepted', add('a', { ...SAME, product_id: 13 }), 1],
      ['dropped', repeat('b', SAME), 2],
    ],
    undefined,
  ],
  [
    'not another name',
    [
      ['accepted', add('a', { ...SAME, event: 'x' }), 1],
      ['dropped', repeat('b', SAME), 2],
    ],
    undefined,
  ],
  [
    'not of another key',
    [
      ['accepted', add('a', SAME, 'L'), 1],
      ['dropped', repeat('b', SAME), 2],
    ],
    undefined,
  ],
  [
    'not another duplicate',
    [
      ['accepted', add('a', SAME), 1],
      ['dropped', repeat('b', SAME), 2],
      ['dropped', repeat('c', SAME), 3],
    ],
    1,
  ],
  [
    'not one of hours ago',
    [
      ['accepted', add('a', SAME), 1],
      ['dropped', repeat('b', SAME), 9_999_999],
    ],
    undefined,
  ],
])('a duplicate is of %s', (_, told, number) => {
  expect(tell(...told).events()[0]?.lives[0]?.duplicateOf?.number).toBe(number)
})

test('an event of an earlier page has its stored payload, and no time to delivery', () => {
  const { event, life } = only(
    ['sent', { id: 'old', key: 'K' }, 5],
    ['delivered', { id: 'old', key: 'K' }, 9],
  )
  expect(event).toMatchObject({
    isEarlier: true,
    operation: undefined,
    ownName: 'view_page',
    subject: '/a',
  })
  expect(life.payload).toContain('view_page')
  expect(stateOf(life).text).toBe('delivered')
})

test('notices of what did not become an event are separate events', () => {
  const notice = { operation: 'order', where: { event: '__sm__order' }, reason: 'invalid' } as const
  const model = tell(['dropped', notice, 5], ['dropped', notice, 6])
  expect(model.events().map(({ number, isEarlier }) => [number, isEarlier])).toEqual([
    [2, false],
    [1, false],
  ])
})

test('the number of requests with an event', () => {
  const model = tell(
    ['accepted', search, 5],
    ['sent', LATER, 6],
    ['held', LATER, 7],
    ['sent', LATER, 8],
  )
  expect(model.tries('a', 'K')).toBe(2)
  expect(model.tries('a', 'L')).toBe(0)
  expect(model.tries('unknown', 'K')).toBe(0)
})

test('the operations of accepted events are known', () => {
  const model = tell(
    ['accepted', search, 5],
    ['dropped', { operation: 'setEmail', reason: 'invalid' }, 6],
  )
  expect([...model.operations()]).toEqual(['search'])
})

test('at most 300 events are kept, and later notices of older ones do not bring them back', () => {
  const many = Array.from(
    { length: 400 },
    (_, i): Told => ['accepted', { ...search, id: `${i}` }, i],
  )
  const model = tell(...many, ['delivered', { id: '0', key: 'K' }, 500])
  expect(model.events()).toHaveLength(300)
  expect(model.events()[0]?.number).toBe(400)
  expect(model.forgotten()).toBe(100)
})

test('events of earlier pages do not displace those of this page', () => {
  const old = Array.from({ length: 400 }, (_, i): Told => ['sent', { id: `old${i}`, key: 'K' }, i])
  const model = tell(['accepted', search, 1], ...old)
  expect(model.events()).toHaveLength(51)
  expect(model.events().at(-1)?.operation).toBe('search')
})

test('a long life keeps its first and its last steps', () => {
  const hours = Array.from(
    { length: 50 },
    (_, i): Told => [i % 2 ? 'held' : 'sent', { ...LATER, status: 503 }, i],
  )
  const { life } = only(['accepted', search, 0], ...hours, ['delivered', LATER, 99])
  expect(life.steps).toHaveLength(12)
  expect(life.omitted).toBe(40)
  expect(life.steps[0]?.kind).toBe('accepted')
  expect(stateOf(life).text).toBe('delivered · 99 ms')
})

test.each<[string, unknown]>([
  ['a symbol', { search_term: Symbol('mug'), product_id: Symbol('12'), event: Symbol('e') }],
  ['no prototype', { product_id: Object.create(null), quantity: Object.create(null) }],
  [
    'a text that throws',
    {
      search_term: {
        toString() {
          throw new Error('mine')
        },
      },
    },
  ],
  [
    'a getter that throws',
    {
      get event() {
        throw new Error('mine')
      },
    },
  ],
  [
    'a proxy that throws',
    new Proxy(
      {},
      {
        get() {
          throw new Error('mine')
        },
        ownKeys() {
          throw new Error('mine')
        },
        getOwnPropertyDescriptor() {
          throw new Error('mine')
        },
      },
    ),
  ],
])('a payload that can not be read is listed as invalid: %s', (_, payload) => {
  const { event, life } = only(['dropped', { ...search, payload, reason: 'invalid', error }, 5])
  expect(event).toMatchObject({ operation: 'search', subject: '' })
  expect(stateOf(life)).toEqual({ tone: 'bad', text: 'invalid' })
  expect(life.payload).not.toBe('')
  expect(life.problem && explain(life.problem)).toContain('search was not sent (invalid)')
})
