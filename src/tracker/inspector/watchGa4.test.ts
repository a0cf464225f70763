// @vitest-environment happy-dom

import { afterEach, expect, test } from 'vitest'
import { watchGa4 } from './watchGa4.ts'

const page = window as unknown as { dataLayer?: unknown[] }
afterEach(() => {
  delete page.dataLayer
  document.head.innerHTML = ''
})

/** What gtag pushes is this object. */
const gtag = new Function('return arguments') as (...all: unknown[]) => unknown

/** What is said of a page whose key has these settings. */
async function say(push: unknown, ga4: unknown, attributes = '') {
  document.head.innerHTML = `<script type="text/plain" src="https://gateway.example/t/j/ABC123"${attributes}></script>`
  page.dataLayer = [{ event: 'gtm.js' }, 'text', null, push]
  const said: string[] = []
  let asked = 0
  const get = async () => {
    asked++
    return Response.json({ config: { ga4 } })
  }
  const stop = watchGa4(window, (text) => said.push(text), get)
  for (let i = 0; i < 20; i++) await Promise.resolve()
  await new Promise((resolve) => setTimeout(resolve))
  stop()
  return { said, asked }
}

test.each([
  ['add_to_cart', { event: 'add_to_cart', ecommerce: { items: [] } }],
  ['view_item', gtag('event', 'view_item', { items: [] })],
  ['add', { ecommerce: { add: { products: [] } } }],
])('%s is seen while ga4 is off', async (name, push) => {
  const { said } = await say(push, false)
  expect(said).toEqual([expect.stringContaining(`a GA4 push was seen (${name})`)])
})

test('nothing is reported if the key reads GA4, or the tag says so', async () => {
  const push = { event: 'add_to_cart', ecommerce: { items: [] } }
  expect((await say(push, true)).said).toEqual([])
  expect((await say(push, false, ' data-ga4="true"')).said).toEqual([])
})

test.each([
  ['a bare name', { event: 'add_to_cart' }],
  ['a reset', { ecommerce: null }],
  ['a setting', gtag('config', 'G-1')],
  ['a list', ['event', 'view_item']],
])('%s is not reported, and the settings are not requested', async (_what, push) => {
  expect(await say(push, false)).toEqual({ said: [], asked: 0 })
})

test('nothing is reported without a tag, or if the settings can not be fetched', async () => {
  page.dataLayer = [{ event: 'add_to_cart', ecommerce: {} }]
  const said: string[] = []
  const fail = async () => {
    throw new TypeError('Failed to fetch')
  }
  watchGa4(window, (text) => said.push(text), fail)()
  document.head.innerHTML = '<script type="text/plain" src="/t/j/ABC123"></script>'
  watchGa4(window, (text) => said.push(text), fail)()
  await new Promise((resolve) => setTimeout(resolve))
  expect(said).toEqual([])
})
