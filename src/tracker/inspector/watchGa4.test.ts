// @vitest-environment happy-dom

import { afterEach, expect, test } from 'vitest'
import { watchGa4 } from './watchGa4.ts'

const page = window as unknown as { dataLayer?: unknown[] }
afterEach(() => {
  delete page.dataLayer
  document.head.innerHTML = ''
})

/** gtag pushes its `arguments` object. */
const gtag = new Function('return arguments') as (...all: unknown[]) => unknown

/** Watches a page whose key has this setting. Returns the printed texts and the number of requests. */
async function watch(push: unknown, ga4: unknown, attributes = '') {
  document.head.innerHTML = `<script type="text/plain" src="https://gateway.example/t/j/ABC123"${attributes}></script>`
  page.dataLayer = [{ event: 'gtm.js' }, 'text', null, push]
  const printed: string[] = []
  let requests = 0
  const get = async () => {
    requests++
    return Response.json({ config: { ga4 } })
  }
  const stop = watchGa4(window, (text) => printed.push(text), get)
  for (let i = 0; i < 20; i++) await Promise.resolve()
  await new Promise((resolve) => setTimeout(resolve))
  stop()
  return { printed, requests }
}

test.each([
  ['add_to_cart', { event: 'add_to_cart', ecommerce: { items: [] } }],
  ['view_item', gtag('event', 'view_item', { items: [] })],
  ['add', { ecommerce: { add: { products: [] } } }],
])('%s is seen while ga4 is off', async (name, push) => {
  const { printed } = await watch(push, false)
  expect(printed).toEqual([expect.stringContaining(`a GA4 push was seen (${name})`)])
})

test('nothing is reported if ga4 is on by the settings or by the tag', async () => {
  const push = { event: 'add_to_cart', ecommerce: { items: [] } }
  expect((await watch(push, true)).printed).toEqual([])
  expect((await watch(push, false, ' data-ga4="true"')).printed).toEqual([])
})

test.each([
  ['a bare name', { event: 'add_to_cart' }],
  ['a reset', { ecommerce: null }],
  ['a setting', gtag('config', 'G-1')],
  ['a list', ['event', 'view_item']],
])('%s is not reported, and the settings are not requested', async (_what, push) => {
  expect(await watch(push, false)).toEqual({ printed: [], requests: 0 })
})

test('nothing is reported without a tag, or if the settings can not be fetched', async () => {
  page.dataLayer = [{ event: 'add_to_cart', ecommerce: {} }]
  const printed: string[] = []
  const fail = async () => {
    throw new TypeError('Failed to fetch')
  }
  watchGa4(window, (text) => printed.push(text), fail)()
  document.head.innerHTML = '<script type="text/plain" src="/t/j/ABC123"></script>'
  watchGa4(window, (text) => printed.push(text), fail)()
  await new Promise((resolve) => setTimeout(resolve))
  expect(printed).toEqual([])
})
