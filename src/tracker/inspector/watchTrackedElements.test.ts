// @vitest-environment happy-dom

import { beforeEach, expect, test } from 'vitest'
import type { Notice } from '../notices.ts'
import { watchTrackedElements } from './watchTrackedElements.ts'

const TAG = (attributes = '') =>
  `<script type="text/plain" src="https://gateway.example/t/j/ABC123"${attributes}></script>`
let attributes: unknown
let requests = 0
let warned: Notice[] = []

// Started once, because its listeners can not be removed.
document.head.innerHTML = TAG()
watchTrackedElements(
  window,
  (notice) => warned.push(notice),
  async () => {
    requests++
    return Response.json({ config: { attributes } })
  },
)
beforeEach(() => {
  warned = []
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

/** Submits a form. By default the page prevents the submit. */
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
  expect([warned, requests]).toEqual([[], 0])
})

test.each([
  '<button disabled data-track="initiateCheckout"><i>Pay</i></button>',
  '<button disabled><i data-track="initiateCheckout">Pay</i></button>',
  '<div aria-disabled="true"><a data-track="initiateCheckout"><i>Pay</i></a></div>',
])('a control that is disabled: %s', async (html) => {
  const where = show(html)
  click('i')
  await later()
  expect(warned).toEqual([
    { code: 'disabled', operation: 'initiateCheckout', reason: 'invalid', where },
  ])
  expect(requests).toBe(1)
})

test('a submit that the page prevents, in a shadow root too', async () => {
  const form = show('<form data-track="search"></form>')
  submit(form)
  await later()
  expect(warned).toEqual([
    { code: 'prevented', operation: 'search', reason: 'invalid', where: form },
  ])

  document.body.innerHTML = '<x-news></x-news>'
  const root = document.querySelector('x-news')?.attachShadow({ mode: 'open' }) as ShadowRoot
  root.innerHTML = '<form data-track="setEmail"><input></form>'
  const input = root.querySelector('input') as HTMLElement
  input.dispatchEvent(new FocusEvent('focusin', { bubbles: true, composed: true }))
  submit(root.querySelector('form') as HTMLElement)
  await later()
  expect(warned.map(({ operation }) => operation)).toEqual(['search', 'setEmail'])
})

test.each([
  ['the settings', false, ''],
  ['the tag', true, ' data-attributes="false"'],
])('nothing is reported if attributes are off by %s', async (_by, setting, more) => {
  attributes = setting
  document.head.innerHTML = TAG(more)
  const notices: Notice[] = []
  watchTrackedElements(
    window,
    (notice) => notices.push(notice),
    async () => Response.json({ config: { attributes } }),
  )
  show('<button disabled data-track="initiateCheckout"><i>Pay</i></button>')
  click('i')
  await later()
  expect(notices).toEqual([])
})
