import { expect, test } from 'vitest'
import { toHtml } from './guess.ts'

test('values are escaped for HTML', () => {
  const attributes = [['data-track-product-id', 'a"&b']] as const
  expect(toHtml({ attributes })).toBe('data-track-product-id="a&quot;&amp;b"')
})
