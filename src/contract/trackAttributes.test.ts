import { expect, test } from 'vitest'
import { createEventSchemas } from './events.ts'
import { agent, text, url } from './fields.ts'
import { ATTRIBUTE_FIELDS, misspelledAttribute, nearestHelper } from './trackAttributes.ts'

test('the fields are those of the schemas', () => {
  const names = Object.values(createEventSchemas(url, agent, text)).flatMap(({ entries }) =>
    Object.keys(entries),
  )
  const fields = names.flatMap((name) =>
    name === 'variation' ? ['variation-id', 'variation-sku'] : [name.replace(/_/g, '-')],
  )
  expect(new Set(ATTRIBUTE_FIELDS)).toEqual(new Set(fields))
})

test.each([
  ['data-track-quantiy', 'data-track-quantity'],
  ['data-track-productid', 'data-track-product-id'],
  ['data-track-product_id', 'data-track-product-id'],
  ['data-track-quantity-form', 'data-track-quantity-from'],
  ['data-track-variation-skus', 'data-track-variation-sku'],
  ['data-track-prevent', undefined],
  ['data-track-prevnted', 'data-track-prevented'],
  ['data-track-quantity', undefined],
  ['data-track-quantity-from', undefined],
  ['data-track-on', undefined],
  // Of another script.
  ['data-track-category', undefined],
  ['data-track-id', undefined],
  ['data-track-', undefined],
  ['data-track', undefined],
  ['data-tracking-quantiy', undefined],
])('%s: %s', (name, meant) => {
  expect(misspelledAttribute(name)).toBe(meant)
})

test.each([
  ['viewProdct', 'viewProduct'],
  ['add_to_cart', 'addToCart'],
  ['hero-banner', undefined],
])('the helper that %s means: %s', (written, meant) => {
  expect(nearestHelper(written)).toBe(meant)
})
