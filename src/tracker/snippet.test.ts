import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { runInNewContext } from 'node:vm'
import { parse } from 'acorn'
import { Liquid } from 'liquidjs'
import { describe, expect, test } from 'vitest'
import { UUID } from '../contract/uuid.ts'
import * as snippet from './snippet.ts'

const root = new URL('../../', import.meta.url)

/** A page in which the stub has run. */
function page(stub: string, window: { track?: unknown } = {}) {
  const stored: Record<string, string> = {}
  const leaving: (() => void)[] = []
  const globals = {
    window,
    location: { href: 'https://shop.example/p/1' },
    localStorage: stored,
    addEventListener: (_: string, listener: () => void) => leaving.push(listener),
  }
  runInNewContext(stub, globals)
  type Stub = { q: unknown[][] } & Record<string, (...given: unknown[]) => Promise<unknown>>
  return { track: window.track as Stub, globals, stored, leave: () => leaving.map((run) => run()) }
}

describe.each([
  ['modern', snippet.STUB, snippet.KEEPING_STUB, 400],
  ['ES5', snippet.STUB_ES5, snippet.KEEPING_STUB_ES5, 450],
])('the %s form', (_, STUB, KEEPING_STUB, most) => {
  test.each([
    ['plain', STUB, most],
    ['keeping', KEEPING_STUB, most + 120],
  ])('the %s stub is one short line', (_, stub, most) => {
    expect(Buffer.byteLength(stub)).toBeLessThan(most)
    expect(stub).not.toMatch(/\n|<\/script/)
  })

  test('a call is recorded with its arguments, URL, time and an id', () => {
    const { track } = page(STUB)
    const before = Date.now()
    const answer = track.search?.({ search_term: 'mug' })
    track.viewHomepage?.()
    expect(answer).toHaveProperty('then')
    expect(track.q.map(([name, given]) => [name, given])).toEqual([
      ['search', [{ search_term: 'mug' }]],
      ['viewHomepage', []],
    ])
    const [[, , url, at, id], [, , , , next]] = track.q as [unknown[], unknown[]]
    expect(url).toBe('https://shop.example/p/1')
    expect(at).toBeGreaterThanOrEqual(before)
    expect(id).toMatch(UUID)
    expect(String(id)[14]).toBe('7')
    expect(String(next) > String(id) || track.q[1]?.[3] !== at).toBe(true)
  })

  test('a thousand calls have a thousand ids', () => {
    const { track } = page(STUB)
    for (let n = 0; n < 1000; n++) track.search?.({ search_term: 'mug' })
    expect(new Set(track.q.map((call) => call[4])).size).toBe(1000)
    for (const call of track.q) expect(call[4]).toMatch(UUID)
  })

  test('it can be awaited without a call', async () => {
    const { track } = page(STUB)
    expect(await track).toBe(track)
    expect(track.q).toEqual([])
  })

  test('it replaces an element, but not the script, a variable of the page, or itself', () => {
    const named = Object.create({ track: { tagName: 'DIV' } })
    expect(page(STUB, named).track.q).toEqual([])
    expect(page(STUB, { track: undefined }).track.q).toEqual([])
    for (const track of [{ version: '1.0.0' }, () => {}, { page() {} }, []])
      expect(page(STUB, { track }).track).toBe(track)
    const first = page(STUB)
    first.track.search?.({ search_term: 'mug' })
    runInNewContext(STUB, first.globals)
    expect((first.globals.window.track as typeof first.track).q).toHaveLength(1)
  })

  test('it can have another name', async () => {
    for (const stub of [STUB, KEEPING_STUB]) {
      const track = () => {}
      const window: { track: unknown; shoptrail?: { q: unknown[][]; search(): unknown } } = {
        track,
      }
      page(stub.replace('"track"', '"shoptrail"'), window)
      window.shoptrail?.search()
      expect(window.shoptrail?.q.map(([name]) => name)).toEqual(['search'])
      expect(window.track).toBe(track)
    }
  })

  test('the keeping stub stores calls that were not replayed, each under its id', () => {
    const { track, stored, leave } = page(KEEPING_STUB)
    track.search?.({ search_term: 'mug' })
    track.addToCart?.({ product_id: 1n })
    leave()
    const id = track.q[0]?.[4]
    expect(Object.keys(stored)).toEqual([`track.e.${id}`])
    expect(JSON.parse(stored[`track.e.${id}`] ?? '')).toEqual(
      JSON.parse(JSON.stringify(track.q[0])),
    )
  })

  test('the plain stub stores nothing, and the keeping one no replayed calls', () => {
    for (const stub of [STUB, KEEPING_STUB]) {
      const { track, stored, leave } = page(stub)
      track.search?.({ search_term: 'mug' })
      if (stub === KEEPING_STUB) track.q.splice(0)
      leave()
      expect(stored).toEqual({})
    }
  })
})

// These two packages have no types.
const require = createRequire(import.meta.url)
const nunjucks: { renderString(text: string, values: object): string } = require('nunjucks')
const Smarty: new (text: string) => { fetch(values: object): string } = require('jsmart')

test.each([snippet.STUB_ES5, snippet.KEEPING_STUB_ES5])(
  'the ES5 form passes through templates, and an old parser accepts it: %s',
  (stub) => {
    const html = `<script>${stub}</script>`
    expect(new Liquid().parseAndRenderSync(html)).toBe(html)
    // nunjucks is a port of Jinja, which has the same delimiters as Twig.
    expect(nunjucks.renderString(html, {})).toBe(html)
    expect(new Smarty(html).fetch({})).toBe(html)
    expect(parse(stub, { ecmaVersion: 5 }).body).toHaveLength(1)
    expect(stub).not.toMatch(/\{\S/)
  },
)

test('README and docs contain these lines', () => {
  const page = readFileSync(new URL('docs/snippet.md', root), 'utf8')
  for (const stub of Object.values(snippet)) expect(page).toContain(`<script>${stub}</script>`)
  const readme = readFileSync(new URL('README.md', root), 'utf8')
  expect(readme).toContain(`<script>${snippet.STUB}</script>`)
})
