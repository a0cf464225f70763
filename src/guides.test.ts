import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as snippet from './tracker/snippet.ts'

const root = new URL('../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** Characters of a guide without its blocks: half a page to a page. */
const MAX_PROSE = 3_000

const HEADINGS = [
  'Paste this',
  'What works by itself',
  'What needs a line more',
  'Pitfalls',
  'See that it works',
]

const guides = readdirSync(new URL('docs/guides/', root))
  .filter((name) => name !== 'README.md')
  .map((name) => name.replace(/\.md$/, ''))

test('there are guides', () => expect(guides.length).toBeGreaterThan(2))

test('the list of guides has all of them', () => {
  const list = read('docs/guides/README.md')
  const missing = guides.filter((name) => !list.includes(`](${name}.md)`))
  expect(missing).toEqual([])
})

describe.each(guides)('%s', (name) => {
  const text = read(`docs/guides/${name}.md`)
  const fences = [...text.matchAll(/^```(\w+)(?: (\w+))?\n.*?^```/gms)]

  test('it has the same headings as the others, and is short', () => {
    const prose = text.replace(/^```.*?^```/gms, '')
    expect([...prose.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(HEADINGS)
    expect(prose.length).toBeLessThanOrEqual(MAX_PROSE)
  })

  test('each of its blocks is run by its test', () => {
    const file = name.replace(/-./g, (at) => (at[1] ?? '').toUpperCase())
    const path = `e2e/guides/${file}.spec.ts`
    expect(existsSync(new URL(path, root)), path).toBe(true)
    const spec = read(path)
    expect(spec).toContain(`readGuide('${name}')`)
    expect(text.match(/^```\w/gm)).toHaveLength(fences.length)
    const unused = fences.filter(
      ([, , block]) => !new RegExp(`['"]${block}['"]|\\b${block}:`).test(spec),
    )
    expect(unused.map(([fence]) => fence.split('\n', 1)[0])).toEqual([])
  })

  test('a stub in it is one of the stubs, as HTML, or as a line or a text of JavaScript', () => {
    const stubs = new Set<string | undefined>(Object.values(snippet))
    const lines = text.split('\n').filter((line) => line.includes('new Proxy('))
    const found = lines.map((line) =>
      /^\s*(?:<script[^>]*>(.*)<\/script>|'(.*)',?|(!function.*))$/.exec(line),
    )
    expect(found.filter((match) => !stubs.has(match?.[1] ?? match?.[2] ?? match?.[3]))).toEqual([])
  })
})
