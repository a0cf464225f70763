// @vitest-environment happy-dom

import { beforeEach, expect, test } from 'vitest'
import type { Notice } from '../notices.ts'
import { watchTrackedElements } from './watchTrackedElements.ts'

const TAG = (attributes = '') =>
  `<script type="text/plain" src="https://gateway.example/t/j/ABC123"${attributes}></script>`
let attributes: unknown
let asked = 0
let told: Notice[] = []

// Its listeners are for the life of the page.
document.head.innerHTML = TAG()
watchTrackedElements(
  window,
  (notice) => told.push(notice),
  async () => {
    asked++
    return Response.json({ config: { attributes } })
  },
)
beforeEach(() => {
  told = []
})

const show = (html: string) => {
  document.body.innerHTML = html
  return document.body.querySelector('[data-track]') as HTMLElement
}
const click = (selector: string) =>
  document
    .querySelector(selector)
    ?.dispatchEvent(new MouseEvent('click', { bubbles: true, composed: true }))
const later = () => new Promise((done) => setTimeout(done, 1))

/** Submits the form, which the page prevents unless told otherwise. */
const submit = (form: HTMLElement, isPrevented = true) => {
  form.addEventListener('submit', (event) => isPrevented && event.preventDefault())
  form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true }))
}

test('the settings are not requested until there is something to report', async () => {
  show('<button data-track="initiateCheckout">Pay</button>')
  click('button')
  submit(show('<form data-track="search"></form>'), false)
  submit(show('<form data-track="search" data-track-prevented="count"></form>'))
  await later()
  expect([told, asked]).toEqual([[], 0])
})

test.each([
  '<button disabled data-track="initiateCheckout"><i>Pay</i></button>',
  '<button disabled><i data-track="initiateCheckout">Pay</i></button>',
  '<div aria-disabled="true"><a data-track="initiateCheckout"><i>Pay</i></a></div>',
])('a control that is disabled: %s', async (html) => {
  const where = show(html)
  click('i')
  await later()
  expect(told).toEqual([
    { code: 'disabled', operation: 'initiateCheckout', reason: 'invalid', where },
  ])
  expect(asked).toBe(1)
})

test('a submit that the page prevents, in a shadow root too', async () => {
  const form = show('<form data-track="search"></form>')
  submit(form)
  await later()
  expect(told).toEqual([{ code: 'prevented', operation: 'search', reason: 'invalid', where: form }])

  document.body.innerHTML = '<x-news></x-news>'
  const root = document.querySelector('x-news')?.attachShadow({ mode: 'open' }) as ShadowRoot
  root.innerHTML = '<form data-track="setEmail"><input></form>'
  const input = root.querySelector('input') as HTMLElement
  input.dispatchEvent(new FocusEvent('focusin', { bubbles: true, composed: true }))
  submit(root.querySelector('form') as HTMLElement)
  await later()
  expect(told.map(({ operation }) => operation)).toEqual(['search', 'setEmail'])
})

test.each([
  ['the settings', false, ''],
  ['the tag', true, ' data-attributes="false"'],
])('nothing is reported if attributes are off by %s', async (_by, setting, more) => {
  attributes = setting
  document.head.innerHTML = TAG(more)
  const said: Notice[] = []
  watchTrackedElements(
    window,
    (notice) => said.push(notice),
    async () => Response.json({ config: { attributes } }),
  )
  show('<button disabled data-track="initiateCheckout"><i>Pay</i></button>')
  click('i')
  await later()
  expect(said).toEqual([])
})
