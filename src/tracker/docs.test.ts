// @vitest-environment happy-dom
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { watchTrack } from '../test/watchTrack.ts'
import { attributes } from './parts/attributes.ts'

/** The first code block of a docs page in a language. */
function blockOf(page: string, language: string): string {
  const text = readFileSync(`${import.meta.dirname}/../../${page}`, 'utf8')
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(text)?.[1] ?? ''
}

const line = { product_id: 12, quantity: 1, variation: { id: '12-1', sku: 'MUG-BLUE' } }

test('the pushes of the dataLayer page are read', () => {
  const { startDataLayer, events } = watchTrack({})
  startDataLayer()
  new Function('dataLayer', blockOf('docs/dataLayer.md', 'js'))(
    (window as unknown as { dataLayer: unknown }).dataLayer,
  )
  expect(events()).toEqual([
    { event: 'view_product', product_id: '12' },
    { event: 'add_to_cart', ...line },
  ])
})

test('the elements of the attributes page are reported', async () => {
  const { state, events } = watchTrack({})
  const [track, , ...rest] = state
  // Without a key, the part can not load the script for `load` elements. It reports them when the page is left.
  attributes(track, new Map(), ...rest)
  document.body.innerHTML = blockOf('docs/attributes.md', 'html')
  const find = (selector: string) => document.querySelector(selector) as HTMLElement

  find('a').click()
  ;(find('#qty') as HTMLInputElement).value = '3'
  find('button').click()
  ;(find('[name=q]') as HTMLInputElement).value = ' mug '
  find('form').dispatchEvent(new Event('submit', { bubbles: true, cancelable: true }))
  window.dispatchEvent(new Event('pagehide'))

  expect(events()).toEqual([
    { event: 'view_product', product_id: '12' },
    { event: 'add_to_cart', ...line, quantity: 3 },
    { event: 'search', search_term: 'mug' },
    { event: 'view_product', product_id: '12' },
  ])
})
