// @vitest-environment happy-dom

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { start } from './main.ts'

const reported: string[] = []
/** An element's payload is its text. */
const report = ({ dataset }: HTMLElement, { text }: { text?: string }) =>
  reported.push(`${dataset.track} ${text}`)
const readPayload = (element: HTMLElement) => ({ text: element.textContent })

beforeAll(() => start(report, readPayload, new Map()))
let page = 0
beforeEach(() => {
  history.pushState({}, '', `/${page++}`)
  reported.length = 0
})
afterEach(() => {
  document.body.innerHTML = ''
})

const show = (html: string) => {
  document.body.innerHTML = html
}
const $ = (selector: string) => document.querySelector(selector) as HTMLElement
const LOAD = (text: string) => `<i data-track="viewHomepage" data-track-on="load">${text}</i>`

test('an element in a shadow root is reported, also in a nested one', async () => {
  show('<div></div>')
  const outer = $('div').attachShadow({ mode: 'open' })
  outer.innerHTML = `${LOAD('outer')}<p></p>`
  const inner = (outer.querySelector('p') as HTMLElement).attachShadow({ mode: 'open' })
  inner.innerHTML = LOAD('inner')
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage outer', 'viewHomepage inner']))
})

test('an element that is added to a shadow root later is reported, one in a closed root is not', async () => {
  show('<div></div><p></p>')
  const root = $('div').attachShadow({ mode: 'open' })
  $('p').attachShadow({ mode: 'closed' }).innerHTML = LOAD('closed')
  root.innerHTML = LOAD('first')
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage first']))
  root.innerHTML = LOAD('second')
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage first', 'viewHomepage second']))
})

test('the shadow root of a custom element that is defined later is found', async () => {
  const looks = vi.spyOn(document, 'createTreeWalker')
  show('<x-late></x-late>')
  await vi.waitFor(() => expect(looks).toHaveBeenCalled())
  customElements.define(
    'x-late',
    class extends HTMLElement {
      constructor() {
        super()
        this.attachShadow({ mode: 'open' }).innerHTML = LOAD('late')
      }
    },
  )
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage late']))
  looks.mockRestore()
})

test('a shadow root that is attached later is found at the next change of the page', async () => {
  const looks = vi.spyOn(document, 'createTreeWalker')
  show('<div></div>')
  await vi.waitFor(() => expect(looks).toHaveBeenCalled())
  $('div').attachShadow({ mode: 'open' }).innerHTML = LOAD('attached')
  document.body.append('something else')
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage attached']))
  looks.mockRestore()
})

test('another copy of the script reports nothing again', async () => {
  const again = vi.fn()
  start(again, readPayload, new Map())
  show(LOAD('once'))
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage once']))
  expect(again).not.toHaveBeenCalled()
})

test('an element that can not be read does not affect the others', async () => {
  show(`<b data-track-on="load"></b>${LOAD('good')}`)
  Object.defineProperty($('b'), 'textContent', {
    get() {
      throw new Error('of the page')
    },
  })
  await vi.waitFor(() => expect(reported).toEqual(['viewHomepage good']))
})

test('a page that is restored from the cache reports its elements again', async () => {
  show(LOAD('again'))
  await vi.waitFor(() => expect(reported).toHaveLength(1))
  const shown = Object.assign(new Event('pageshow'), { persisted: true })
  window.dispatchEvent(shown)
  expect(reported).toEqual(['viewHomepage again', 'viewHomepage again'])
})
