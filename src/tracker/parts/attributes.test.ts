// @vitest-environment happy-dom

import { readFileSync } from 'node:fs'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { watchTrack } from '../../test/watchTrack.ts'
import type { Config } from '../config.ts'
import { start } from '../presence/main.ts'
import type { Outcome, Track, TrackOptions } from '../track.ts'
import { attributes } from './attributes.ts'

const vectors: { id: string; kind: string; input: { html?: string } }[] = JSON.parse(
  readFileSync(`${import.meta.dirname}/../fixtures/tracker.json`, 'utf8'),
)

type Seen = { op: string; payload: Record<string, unknown>; options: TrackOptions | undefined }
let seen: Seen[] = []

let outcome: Outcome = { ok: true, id: '' }
const configs = new Map<string, Config>()

/** A copy with a prototype, without fields that are undefined. */
const copy = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value as object)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, field && typeof field === 'object' ? copy(field) : field]),
  )

const track: Track = (operation, payload, options) => {
  seen.push({ op: operation, payload: copy(payload), options })
  return outcome
}

/** The address of a gateway whose script calls `begin` of the test. The path `/t/p.js` ends in the comment. */
const baseOf = (name: string) =>
  `data:text/javascript,export const start = (...given) => globalThis.begin('${name}', ...given)//`
const begun = vi.fn()
const begin = (name: string, ...given: Parameters<typeof start>) => {
  begun(name)
  return name === 'K' && start(...given)
}
Object.assign(globalThis, { begin })

const startWith = (config: Partial<Config>) => {
  const full: Config = { key: 'K', base: baseOf('K'), ...config }
  configs.clear()
  configs.set('K', full)
}
const startPart = (on: Track, all: ReadonlyMap<string, Config>) => {
  const [, , ...rest] = watchTrack().state
  return attributes(on, all, ...rest)
}

beforeAll(() => startPart(track, configs))
beforeEach(() => {
  seen = []
  outcome = { ok: true, id: '' }
  startWith({})
})
afterEach(() => {
  document.body.innerHTML = ''
})

const show = (html: string) => {
  document.body.innerHTML = html
}
const append = (html: string) => document.body.insertAdjacentHTML('beforeend', html)
const $ = (selector: string) => document.querySelector(selector) as HTMLElement
const ops = () => seen.map(({ op }) => op)
const task = () => new Promise((done) => setTimeout(done))
/** Changes the page, and waits for the next search for elements. */
const expectLook = async (change: () => void) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const looks = vi.spyOn(document, 'createTreeWalker')
  change()
  await vi.advanceTimersByTimeAsync(LOOK_MS)
  expect(looks).toHaveBeenCalled()
  vi.useRealTimers()
  looks.mockRestore()
}
const LOOK_MS = 300
const LINE = 'data-track="addToCart" data-track-product-id="7"'

test.each(vectors.filter(({ kind, input }) => kind.startsWith('attribute is') && input.html))(
  '$id: a number is passed on as it is written',
  ({ input }) => {
    show(input.html as string)
    $('#c').click()
    const { product_id, quantity } = (seen[0] as Seen).payload
    expect([product_id, quantity]).toEqual([
      $('#c').dataset.trackProductId?.trim(),
      /^\d+$/.test(`${$('#c').dataset.trackQuantity}`)
        ? Number($('#c').dataset.trackQuantity)
        : $('#c').dataset.trackQuantity,
    ])
  },
)

test('a click inside the element counts, also if the theme stops it, and the notice has the element', () => {
  show(`<button ${LINE}><b><i>Add</i></b></button>`)
  $('button').addEventListener('click', (event) => event.stopPropagation())
  $('i').click()
  expect(seen).toMatchObject([
    {
      op: 'addToCart',
      payload: { product_id: '7', quantity: 1, variation: { id: '7', sku: '7' } },
      options: { from: 'attribute', where: $('button') },
    },
  ])
})

test('two clicks are two events', () => {
  show(`<button ${LINE}>Add</button>`)
  $('button').click()
  $('button').click()
  expect(ops()).toEqual(['addToCart', 'addToCart'])
})

test('values come from the nearest element around, also outside a shadow root', () => {
  show('<div data-track-product-id="7" data-track-source=" card "><x-buy></x-buy></div>')
  const root = $('x-buy').attachShadow({ mode: 'open' })
  root.innerHTML =
    '<input id="qty" value=" 3 "><button data-track="addToCart" data-track-quantity-from="#qty">Add</button>'
  root.querySelector('button')?.click()
  expect(seen).toMatchObject([{ payload: { product_id: '7', source: 'card', quantity: 3 } }])
})

test('a form field in the same card is preferred', () => {
  const card = (id: number) =>
    `<li data-track-product-id="${id}"><input class="qty" value="${id}"><button id="b${id}" data-track="addToCart" data-track-quantity-from=".qty">Add</button></li>`
  show(`<ul>${card(1)}${card(2)}</ul>`)
  $('#b2').click()
  expect(seen).toMatchObject([{ payload: { product_id: '2', quantity: 2 } }])
})

test.each([
  [
    'a chosen radio button',
    '<input type=radio name=v value=a><input type=radio name=v value=b checked>',
    'b',
  ],
  ['a hidden field that the selector names', '<input type=hidden name=v value=h>', 'h'],
  ['never a password', '<input type=password name=v value=s3cret>', undefined],
  ['never a card number', '<input autocomplete="cc-number" name=v value=4111>', undefined],
  [
    'never a card number of a section',
    '<input autocomplete="section-a billing cc-number" name=v value=4111>',
    undefined,
  ],
])('reads %s', (_what, fields, id) => {
  show(
    `<div>${fields}<button ${LINE} data-track-variation-sku=S data-track-variation-id-from="[name=v]">Add</button></div>`,
  )
  $('button').click()
  expect(seen[0]?.payload.variation).toEqual({ ...(id && { id }), sku: 'S' })
})

/** A form field. `checkVisibility` is true unless it is hidden. */
const field = (name: string, value: string, hidden = '') =>
  `<input name="${name}" ${hidden} value="${value}">`
const showFields = (...fields: string[]) => {
  show(`<form data-track="search">${fields.join('')}</form>`)
  for (const input of document.querySelectorAll('input'))
    input.checkVisibility = () => !input.hidden
}

test.each([
  ['an empty decoy is in front', [field('q', '', 'hidden'), field('q', 'mug')]],
  ['an empty decoy that can be seen is in front', [field('q', ''), field('q', 'mug')]],
  ['a filled decoy is in front', [field('q', 'spam', 'hidden'), field('s', 'mug')]],
  ['decoys are around', [field('q', 'a', 'hidden'), field('q', 'mug'), field('q', '', 'hidden')]],
  ['none is visible', [field('q', '', 'hidden'), field('s', 'mug', 'hidden')]],
  ['several are filled: the first counts', [field('q', 'mug'), field('s', 'cup')]],
])(
  'of several form fields a visible one is read, then one with a value: %s',
  async (_what, fields) => {
    showFields(...fields)
    await submit($('form'))
    expect(seen).toMatchObject([{ payload: { search_term: 'mug' } }])
  },
)

test('a visible field without a value is preferred to a hidden one with a value', async () => {
  showFields(field('q', 'spam', 'hidden'), field('q', ''))
  await submit($('form'))
  expect(seen).toMatchObject([{ payload: { search_term: '' } }])
})

test('without checkVisibility the first field with a value is read', async () => {
  showFields(field('q', '', 'hidden'), field('q', 'mug'), field('s', 'cup'))
  for (const input of document.querySelectorAll('input'))
    Object.assign(input, { checkVisibility: undefined })
  await submit($('form'))
  expect(seen).toMatchObject([{ payload: { search_term: 'mug' } }])
})

test('elements that are not form fields are ignored', () => {
  show(
    `<p class="qty">2</p><input class="qty" value="3"><p class="qty"></p><button ${LINE} data-track-quantity-from=".qty">Add</button>`,
  )
  $('button').click()
  expect(seen).toMatchObject([{ payload: { quantity: 3 } }])
})

test('with an invalid selector the value is missing', () => {
  show(`<button ${LINE} data-track-source-from="#[">Add</button>`)
  $('button').click()
  expect(seen).toMatchObject([{ op: 'addToCart' }])
})

test.each([
  ['the button', `<button disabled ${LINE}><i>Add</i></button>`],
  ['aria-disabled', `<a aria-disabled="true" ${LINE}><i>Add</i></a>`],
  ['around the element', `<button disabled><i ${LINE}>Add</i></button>`],
])('a disabled control is not reported: %s', (_where, html) => {
  show(html)
  $('i').dispatchEvent(new MouseEvent('click', { bubbles: true, composed: true }))
  expect(ops()).toEqual([])
})

test.each([
  ['auxclick', 1, '<a href="#x" data-track="viewProduct"><i>x</i></a>', 1],
  ['auxclick', 2, '<a href="#x" data-track="viewProduct"><i>x</i></a>', 0],
  ['auxclick', 1, `<button ${LINE}><i>x</i></button>`, 0],
  ['contextmenu', 2, '<a href="#x" data-track="viewProduct"><i>x</i></a>', 0],
])('%s with button %i', (type, button, html, times) => {
  show(html)
  $('i').dispatchEvent(new MouseEvent(type, { button, bubbles: true, composed: true }))
  expect(seen).toHaveLength(times)
})

test('of nested elements only the innermost is reported', () => {
  show(
    `<div data-track="viewProduct" data-track-product-id="7"><button ${LINE}>Add</button><i>x</i></div>`,
  )
  $('button').click()
  expect(ops()).toEqual(['addToCart'])
  $('i').click()
  expect(ops()).toEqual(['addToCart', 'viewProduct'])
})

test('a click made by a listener is reported only with another helper', () => {
  show(
    '<div id="card" data-track="viewProduct"><a id="same" data-track="viewProduct">x</a></div><a id="other" data-track="initiateCheckout">y</a>',
  )
  $('#card').addEventListener('click', ({ target }) => {
    if (target !== $('#card')) return
    $('#same').click()
    $('#other').click()
  })
  $('#card').click()
  expect(ops()).toEqual(['viewProduct', 'initiateCheckout'])
})

test('a label and its control are one action', () => {
  show(
    '<label data-track="addToWishlist" data-track-product-id="7"><i>Save</i><input type="checkbox"></label>',
  )
  $('i').click()
  expect(ops()).toEqual(['addToWishlist'])
})

test('a label whose control is elsewhere is reported by itself', () => {
  show(
    '<label for="heart" data-track="addToWishlist" data-track-product-id="7"><i>Save</i></label><input type="checkbox" id="heart">',
  )
  $('i').click()
  expect(ops()).toEqual(['addToWishlist'])
})

test('a label and its control in one card are one action', () => {
  show(
    '<div data-track="addToWishlist" data-track-product-id="7"><label for="heart"><i>Save</i></label><input type="checkbox" id="heart"></div>',
  )
  $('i').click()
  expect(ops()).toEqual(['addToWishlist'])
})

test('an unknown helper is refused by track, with its element', async () => {
  show('<button data-track="addtocart">x</button><b data-track="constructor">x</b>')
  $('button').click()
  $('b').click()
  append('<i data-track="nope" data-track-on="load"></i>')
  await vi.waitFor(() => expect(ops()).toEqual(['addtocart', 'constructor', 'nope']))
  expect(seen.map(({ options }) => options?.where)).toEqual([$('button'), $('b'), $('i')])
})

test('underscores of a field are hyphens in its attribute', () => {
  show(
    '<a data-track="viewHomepage" data-track-http-user-agent="Mine" data-track-remote-addr="::1">x</a>',
  )
  $('a').click()
  expect(seen[0]?.payload).toMatchObject({ http_user_agent: 'Mine', remote_addr: '::1' })
})

test('an attribute of the element comes before those around it, also before a form field', () => {
  const html = (inner: string, outer: string) =>
    `<div ${outer}><input id="qty" value="3"><button ${LINE} ${inner}>Add</button></div>`
  const plain = 'data-track-quantity="2"'
  const from = 'data-track-quantity-from="#qty"'
  for (const [inner, outer] of [
    [plain, from],
    [from, plain],
    [`${plain} ${from}`, ''],
    [`${from} ${plain}`, ''],
    ['data-track-quantity-from="#none"', plain],
  ] as const) {
    show(html(inner, outer))
    $('button').click()
  }
  expect(seen.map(({ payload }) => payload.quantity)).toEqual([2, 3, 3, 3, 2])
})

test('extending Object.prototype adds no fields and no reports', () => {
  const polluted = Object.prototype as { [name: string]: unknown }
  try {
    Object.assign(polluted, { source: '[name=csrf]', product_id: '666', root: 5 })
    show(
      '<form data-track="search"><input name="q" value="mug"><input name="csrf" value="t"></form>',
    )
    submit($('form'))
    window.dispatchEvent(new Event('pagehide'))
    const [report] = seen
    expect(report?.payload).toEqual({ search_term: 'mug', quantity: 1, variation: {} })
  } finally {
    for (const name of ['source', 'product_id', 'root']) delete polluted[name]
  }
})

test('a select is reported at change, not at click', () => {
  show(`<select ${LINE}><option>1</option></select>`)
  $('select').click()
  expect(ops()).toEqual([])
  $('select').dispatchEvent(new Event('change', { bubbles: true }))
  expect(ops()).toEqual(['addToCart'])
})

const submit = async (form: HTMLElement, submitter?: HTMLElement) => {
  form.dispatchEvent(
    new SubmitEvent('submit', { bubbles: true, cancelable: true, submitter: submitter ?? null }),
  )
  await task()
}

test('a form reads its own e-mail field and no other', async () => {
  show(
    '<form data-track="setEmail"><input type=hidden name=email value=h@shop.test><input type=email value=" a@shop.test "><input type=password value=s3cret><input type=hidden name=csrf value=t></form>',
  )
  await submit($('form'))
  expect(seen).toMatchObject([{ op: 'setEmail', payload: { email_address: 'a@shop.test' } }])
  expect(JSON.stringify(seen[0]?.payload)).not.toMatch(/s3cret|csrf|h@shop/)
})

test('a search form reads its search field as it is at submit', async () => {
  show('<form data-track="search"><input name="q" value=" mug "></form>')
  $('form').addEventListener('submit', () => {
    ;($('input') as HTMLInputElement).value = ''
  })
  await submit($('form'))
  expect(seen).toMatchObject([{ payload: { search_term: 'mug' } }])
})

test('a submit that the page prevents is reported only with data-track-prevented', async () => {
  show('<form data-track="search"><input type="search" value="mug"></form>')
  $('form').addEventListener('submit', (event) => event.preventDefault())
  await submit($('form'))
  expect(ops()).toEqual([])
  $('form').dataset.trackPrevented = 'count'
  await submit($('form'))
  expect(ops()).toEqual(['search'])
})

test('a submit is reported if the page is left before the next task', () => {
  show('<form data-track="search"><input type="search" value="mug"></form>')
  submit($('form'))
  window.dispatchEvent(new Event('pagehide'))
  expect(ops()).toEqual(['search'])
})

test.each([
  ['search', ['search']],
  ['initiateCheckout', ['initiateCheckout', 'search']],
])('a button with data-track (%s) in a form with data-track', async (helper, expected) => {
  show(
    `<form data-track="search"><input type="search" value="mug"><button data-track="${helper}">Go</button></form>`,
  )
  const button = $('button')
  button.addEventListener('click', (event) => event.preventDefault())
  button.click()
  await submit($('form'), button)
  expect(ops()).toEqual(expected)
})

test('a button whose click was a duplicate counts for its form too', async () => {
  show(
    '<form data-track="search"><input type="search" value="mug"><button data-track="search">Go</button></form>',
  )
  const button = $('button')
  button.addEventListener('click', (event) => event.preventDefault())
  outcome = { ok: false, error: 'duplicate' }
  button.click()
  outcome = { ok: true, id: '' }
  await submit($('form'), button)
  expect(ops()).toEqual(['search'])
})

test('a submit inside a shadow root is reported after a click or focus in it', async () => {
  show('<x-news></x-news>')
  const root = $('x-news').attachShadow({ mode: 'open' })
  root.innerHTML = '<form data-track="setEmail"><input type="email" value="a@shop.test"></form>'
  const form = root.querySelector('form') as HTMLFormElement
  root
    .querySelector('input')
    ?.dispatchEvent(new FocusEvent('focusin', { bubbles: true, composed: true }))
  await submit(form)
  await submit(form)
  expect(ops()).toEqual(['setEmail', 'setEmail'])
})

/** Starts the part once more, for another page. Its events are not recorded. */
const startOther = (name: string, base = baseOf(name)) =>
  startPart(() => outcome, new Map([['K', { key: 'K', base }]]))
const LOAD = '<i data-track="viewHomepage" data-track-on="load"></i>'

test('the script for load and visible elements is loaded when the page has one, not before', async () => {
  show('<b data-track="viewProduct" data-track-on="click">x</b><main></main>')
  startOther('late')
  document.dispatchEvent(new Event('readystatechange'))
  await expectLook(() => {
    $('main').innerHTML = `<template>${LOAD}</template>`
  })
  expect(begun).not.toHaveBeenCalledWith('late')
  $('b').dataset.trackOn = 'visible'
  await vi.waitFor(() => expect(begun).toHaveBeenCalledWith('late'))
})

test.each([
  ['that is there', (root: ShadowRoot) => root, 'shadow1'],
  ['in another', (root: ShadowRoot) => inside(root), 'shadow2'],
])('that script is loaded for an element in a shadow root %s', async (_where, rootOf, name) => {
  show('<x-card></x-card>')
  const root = $('x-card').attachShadow({ mode: 'open' })
  root.innerHTML = '<p></p>'
  const inner = rootOf(root)
  startOther(name)
  await expectLook(() => inner.append(document.createElement('b')))
  expect(begun).not.toHaveBeenCalledWith(name)
  inner.innerHTML = LOAD
  await vi.waitFor(() => expect(begun).toHaveBeenCalledWith(name))
})

const inside = (root: ShadowRoot) =>
  (root.querySelector('p') as HTMLElement).attachShadow({ mode: 'open' })

test('if that script can not be loaded, nothing is thrown', async () => {
  show(LOAD)
  const refused = vi.fn()
  process.on('unhandledRejection', refused)
  startOther('refused', 'data:text/javascript,throw new Error("refused")//')
  startOther('after')
  await vi.waitFor(() => expect(begun).toHaveBeenCalledWith('after'))
  await task()
  process.off('unhandledRejection', refused)
  expect(refused).not.toHaveBeenCalled()
})

test('if the page is left before that script has loaded, load elements are reported', async () => {
  const left: unknown[] = []
  const leave = () => window.dispatchEvent(new Event('pagehide'))
  show(`${LOAD}<i data-track="viewProduct" data-track-on="visible"></i>`)
  startPart(
    (operation) => {
      left.push(operation)
      return outcome
    },
    new Map([['K', { key: 'K', base: baseOf('K') }]]),
  )
  leave()
  expect(left).toEqual(['viewHomepage'])
  startOther('behind')
  await vi.waitFor(() => expect(begun).toHaveBeenCalledWith('behind'))
  await task()
  leave()
  expect(left).toEqual(['viewHomepage'])
})

test('load elements are reported once a page, also if they are added or changed later', async () => {
  const html = (id: number) =>
    `<main data-track="viewProduct" data-track-on="load" data-track-product-id="${id}"></main>`
  const ids = () => seen.map(({ payload }) => payload.product_id)
  show(html(1) + html(1))
  show(html(1))
  await vi.waitFor(() => expect(ids()).toEqual(['1']))
  $('main').setAttribute('data-track-product-id', '2')
  await vi.waitFor(() => expect(ids()).toEqual(['1', '2']))
  history.pushState({}, '', '/p/1')
  show(html(1))
  await vi.waitFor(() => expect(ids()).toEqual(['1', '2', '1']))
})

test.each([
  [false, ['1']],
  [true, ['1', '1']],
])(
  'a change of the fragment is another page with pageViewHash (%s)',
  async (pageViewHash, expected) => {
    startWith({ pageViewHash })
    history.pushState({}, '', `/anchors/${pageViewHash}`)
    const html =
      '<main data-track="viewProduct" data-track-on="load" data-track-product-id="1"></main>'
    const ids = () => seen.map(({ payload }) => payload.product_id)
    show(html)
    await vi.waitFor(() => expect(ids()).toEqual(['1']))
    history.pushState({}, '', '#reviews')
    show(`${html}<b data-track="viewProduct" data-track-on="load" data-track-product-id="2"></b>`)
    await vi.waitFor(() => expect(ids()).toEqual([...expected, '2']))
  },
)

test('a toJSON of the page has no effect', async () => {
  history.pushState({}, '', '/tojson')
  Object.assign(Object.prototype, {
    toJSON: () => {
      throw new Error('of the page')
    },
  })
  try {
    show('<main data-track="viewProduct" data-track-on="load" data-track-product-id="9"></main>')
    await vi.waitFor(() => expect(seen).toHaveLength(1))
  } finally {
    Reflect.deleteProperty(Object.prototype, 'toJSON')
  }
})

test('an unchanged element is read once, however often the page changes', async () => {
  history.pushState({}, '', '/frames')
  show('<main data-track="viewProduct" data-track-on="load" data-track-product-id="9"></main>')
  await vi.waitFor(() => expect(ops()).toHaveLength(1))
  const read = vi.spyOn($('main'), 'getAttribute')
  append('<p>frame</p>')
  append('<i data-track="viewProduct" data-track-on="load" data-track-product-id="10"></i>')
  await vi.waitFor(() => expect(ops()).toHaveLength(2))
  expect(read).not.toHaveBeenCalled()
})

test('only for keys with attributes on', () => {
  show(`<button ${LINE}>Add</button>`)
  $('button').click()
  const only = seen[0]?.options?.only
  const of = (more: Partial<Config>) => !!only?.({ key: 'K', base: '', ...more })
  expect([of({}), of({ attributes: true }), of({ attributes: false })]).toEqual([true, true, false])
})

test('unusual event targets and helpers do no harm', () => {
  document.dispatchEvent(new MouseEvent('click', { bubbles: true }))
  window.dispatchEvent(new MouseEvent('click'))
  show('<b data-track="toString">x</b><div id="matches"></div>')
  expect(() => $('b').click()).not.toThrow()
})
