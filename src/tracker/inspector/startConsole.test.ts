// @vitest-environment happy-dom

import { expect, test } from 'vitest'
import { ValidationException } from '../../contract/index.ts'
import type { TrackApi } from '../global.d.ts'
import { createNotices, type Notice } from '../notices.ts'
import { startConsole } from './startConsole.ts'

/** Listeners are called before the next task. */
const nextTask = () => new Promise((done) => setTimeout(done))

async function printOf(...dropped: Notice[]) {
  const notices = createNotices()
  const printed: string[] = []
  const infos: string[] = []
  const stop = startConsole(notices.on as TrackApi['on'], {
    warn: (text: string) => void printed.push(text),
    info: (text: string) => void infos.push(text),
  })
  for (const notice of dropped) notices.emit('dropped', notice)
  await nextTask()
  const first = printed.map((text) => text.split('\n')[0])
  return { notices, printed, infos, first, stop }
}

test('the first line says what is listed, and where the panel is', async () => {
  const { infos } = await printOf()
  expect(infos).toEqual([expect.stringMatching(/^track: debug mode\. .+ not sent\.$/)])
  const out = { warn: () => {}, info: (text: string) => void infos.push(text) }
  startConsole(createNotices().on as TrackApi['on'], out, { hint: 'The panel is there.' })
  expect(infos[1]).toMatch(/not sent\. The panel is there\.$/)
})

test('notices from before it started are printed first, with what belongs to them', async () => {
  const notices = createNotices()
  const printed: string[] = []
  const out = { warn: (text: string) => void printed.push(text), info: () => {} }
  const seen = [
    ['accepted', { id: 'one', operation: 'search', payload: {} }, 1],
    ['sent', { id: 'one' }, 2],
    ['consent', 'granted' as never, 3],
    ['dropped', { operation: 'order', where: {}, reason: 'invalid' }, 4],
  ] as const
  startConsole(notices.on as TrackApi['on'], out, { seen })
  notices.emit('dropped', { id: 'one', reason: 'refused' })
  await nextTask()
  expect(printed.map((text) => text.split('\n')[0])).toEqual([
    'track: order was not sent (order)',
    'track: search was not sent (refused)',
  ])
})

test('once for each code, event name and content of a push', async () => {
  const one = { operation: 'add_to_cart', code: 'ga4-item-id', reason: 'invalid' } as const
  const where = () => ({ event: 'add_to_cart' })
  const { first } = await printOf(
    { ...one, where: where() },
    { ...one, where: where() },
    { ...one, operation: 'view_item' },
  )
  expect(first).toEqual([
    'track: add_to_cart was not sent (ga4-item-id)',
    'track: view_item was not sent (ga4-item-id)',
  ])
})

test('again for another element', async () => {
  const [a, b] = [document.createElement('button'), document.createElement('button')]
  const at = (where: Element): Notice => ({ operation: 'search', reason: 'invalid', where })
  const { printed } = await printOf(at(a), at(b), at(a), at(b))
  expect(printed).toHaveLength(2)
})

test('once for each set of issues of a payload', async () => {
  const fault = (path: string): Notice => ({
    operation: 'search',
    reason: 'invalid',
    error: new ValidationException([{ path, message: 'wrong' }]),
  })
  const { printed } = await printOf(fault('search_term'), fault('url'), fault('url'))
  expect(printed).toHaveLength(2)
})

test('stops after 50 messages, and says so', async () => {
  const many = Array.from({ length: 200 }, (_, id) => ({ code: 'order', where: { id } }))
  const { printed } = await printOf(...many)
  expect(printed).toHaveLength(51)
  expect(printed.at(-1)).toContain('and more')
})

test('an event that is refused later is shown', async () => {
  const { notices, printed } = await printOf()
  const event = { id: 'one', operation: 'search', payload: { search_term: 'mug' } }
  notices.emit('accepted', event)
  const refused = { reason: 'refused', status: 422, message: 'No url' } as const
  notices.emit('dropped', { id: 'one', ...refused })
  notices.emit('dropped', { id: 'unknown', ...refused })
  await nextTask()
  expect(printed[0]).toMatch(/^track: search was not sent \(refused\)\n {2}event: .+"mug"/)
  expect(printed[1]).toMatch(/^track: an earlier event was not sent/)
})

test('a form field that is not found is reported, also if the event was sent', async () => {
  const { notices, printed } = await printOf()
  const where = document.createElement('button')
  where.dataset.trackQuantityFrom = '#qyt'
  notices.emit('accepted', { id: 'one', operation: 'addToCart', where })
  await nextTask()
  expect(printed[0]).toMatch(/^track: addToCart was sent, but not all of it \(from\)/)
  expect(printed[0]).toContain('seen: data-track-quantity-from="#qyt"')
})

test('a misspelled attribute is reported, also if the event was sent', async () => {
  const { notices, printed } = await printOf()
  const where = document.createElement('button')
  where.dataset.trackQuantiy = '2'
  notices.emit('accepted', { id: 'one', operation: 'addToCart', where })
  await nextTask()
  expect(printed).toHaveLength(1)
  expect(printed[0]).toMatch(/^track: addToCart was sent, but not all of it \(attribute\)/)
  expect(printed[0]).toContain(
    'seen: data-track-quantiy is not read. Did you mean data-track-quantity?',
  )
})

test('of an event that was dropped, no attribute says that it was sent', async () => {
  const where = document.createElement('button')
  where.dataset.trackQuantiy = '2'
  where.dataset.trackProductIdFrom = '#id'
  const error = new ValidationException([{ path: 'product_id', message: 'Expected digits' }])
  const { first } = await printOf({ operation: 'addToCart', reason: 'invalid', error, where })
  expect(first).toEqual(
    ['from', 'attribute', 'invalid'].map((code) => `track: addToCart was not sent (${code})`),
  )
})

test('for an unknown helper, the message is about the helper, not about an invalid event', async () => {
  const where = document.createElement('button')
  const error = new ValidationException([{ path: '', message: 'Unreadable' }])
  const { printed } = await printOf({ operation: 'addtocart', reason: 'invalid', error, where })
  expect(printed[0]).toMatch(/^track: addtocart was not sent \(helper\)/)
  expect(printed[0]).toContain('Did you mean addToCart?')
  expect(printed[0]).not.toContain('Unreadable')
})

test('notices of its own watch are printed too, once, and passed on', async () => {
  const notice = { operation: 'search', reason: 'invalid', code: 'prevented' } as const
  const printed: string[] = []
  const found: Notice[] = []
  const out = { warn: (text: string) => void printed.push(text), info: () => {} }
  startConsole(createNotices().on as TrackApi['on'], out, {
    found: (one) => found.push(one),
    watch(warn) {
      warn(notice)
      warn(notice)
    },
  })
  expect(printed).toEqual([expect.stringContaining('search was not sent (prevented)')])
  expect(found).toEqual([notice])
})

test('that events are held is printed once for each status', async () => {
  const { notices, printed } = await printOf()
  for (const [id, status] of [
    ['one', 403],
    ['two', 403],
    ['one', 503],
  ] as const)
    notices.emit('held', { id, status, key: 'ABC123' })
  await nextTask()
  expect(printed).toEqual([
    expect.stringMatching(/^track: events wait \(held\)[\s\S]+403[\s\S]+--origin/),
    expect.stringMatching(/^track: events wait \(held\)[\s\S]+503/),
  ])
})

test('that events wait for consent is printed once for each operation and element, with how to test', async () => {
  const { notices, printed } = await printOf()
  const where = document.createElement('button')
  for (const [id, operation] of [
    ['one', 'search'],
    ['two', 'search'],
    ['three', 'addToCart'],
  ] as const) {
    notices.emit('accepted', { id, operation, where, payload: {} })
    notices.emit('held', { id, key: 'ABC123', reason: 'no_consent' })
  }
  await nextTask()
  expect(printed).toEqual([
    expect.stringMatching(
      /^track: search waits \(consent\)\n {2}at: <button>\n {2}why: The visitor/,
    ),
    expect.stringMatching(/^track: addToCart waits \(consent\)[\s\S]+track\.consent\('granted'\)/),
  ])
})

test('a page view, which is a viewHomepage of another name, is described by both names', async () => {
  const { notices, printed } = await printOf()
  for (const event of ['view_page', 'view_homepage'])
    notices.emit('accepted', { id: event, operation: 'viewHomepage', payload: { event } })
  for (const id of ['view_page', 'view_homepage', 'view_page'])
    notices.emit('held', { id, reason: 'no_consent' })
  await nextTask()
  expect(printed.map((text) => text.split('\n')[0])).toEqual([
    'track: viewHomepage "view_page" waits (consent)',
    'track: viewHomepage waits (consent)',
  ])
})

test('an event that a refusal drops is described by its operation', async () => {
  const { notices, printed } = await printOf()
  notices.emit('accepted', { id: 'one', operation: 'search', payload: {} })
  notices.emit('dropped', { id: 'one', key: 'ABC123', reason: 'no_consent' })
  await nextTask()
  expect(printed).toEqual([expect.stringMatching(/^track: search was not sent \(no_consent\)/)])
})

test('stops', async () => {
  const { notices, printed, stop } = await printOf()
  stop()
  notices.emit('dropped', { code: 'order' })
  notices.emit('held', { status: 403 })
  await nextTask()
  expect(printed).toEqual([])
})
