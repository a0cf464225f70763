import { expect, test } from 'vitest'
import { STUB } from '../../../src/tracker/snippet.ts'
import { PAGES } from './pages.ts'

const scripted = [...PAGES].filter(([path]) => !path.startsWith('plain/'))

test.each(scripted)('%s contains the unchanged stub', (_path, page) => {
  expect(page).toContain(`<script>${STUB}</script>`)
})

test('the plain pages have no stub: they call no helper', () => {
  const plain = [...PAGES].filter(([path]) => path.startsWith('plain/'))
  expect(plain.filter(([, page]) => page.includes(STUB))).toEqual([])
  expect([scripted.length, plain.length].every((count) => count > 3)).toBe(true)
})
