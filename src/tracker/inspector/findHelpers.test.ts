// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { findHelpers } from './findHelpers.ts'

const helpers = { on: () => () => {}, version: '1.0.0' }
const shopsOwn = () => {}

afterEach(() => {
  document.head.innerHTML = ''
  for (const name of ['track', 'shoptrail', 'events']) Reflect.deleteProperty(window, name)
})

/** Finds the helpers on a page with these globals. Returns them, the printed text and the number of requests. */
async function find(globals: object, attributes = '', settings: object = {}) {
  Object.assign(window, globals)
  document.head.innerHTML = `<script type="none" src="https://gw.example/t/j/AAAAAA" ${attributes}></script>`
  const printed: string[] = []
  const get = vi.fn(async () => Response.json({ config: settings }))
  const found = await findHelpers(window, (text) => printed.push(text), get)
  return { found, printed: printed.join(), requests: get.mock.calls.length }
}

test.each([
  ['at the usual name', { track: helpers }, ''],
  ['at the name of the tag', { track: shopsOwn, events: helpers }, 'data-global="events"'],
])('helpers %s: no text, and no request', async (_, globals, attributes) => {
  expect(await find(globals, attributes)).toEqual({ found: helpers, printed: '', requests: 0 })
})

test('helpers at the name in the key’s settings', async () => {
  const { found, printed } = await find({ track: shopsOwn, events: helpers }, '', {
    global: 'events',
  })
  expect([found, printed]).toEqual([helpers, ''])
})

test.each([
  ['', 'track'],
  ['data-global="events"', 'events'],
])('the page has a variable of that name (%s)', async (attributes, name) => {
  const { found, printed } = await find({ [name]: shopsOwn, shoptrail: helpers }, attributes)
  expect(found).toBe(helpers)
  expect(printed).toContain(`the page has a \`${name}\` of its own`)
  expect(printed).toContain('data-global=')
})

test.each([shopsOwn, null, 'text', { version: '1' }, { on() {}, version: () => '1' }])(
  'the page has overwritten the helpers: %s',
  async (track) => {
    const { found, printed } = await find({ track })
    expect(found).toBeUndefined()
    expect(printed).toContain('overwritten the helpers')
  },
)
