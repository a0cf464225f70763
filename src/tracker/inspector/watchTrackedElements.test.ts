// @vitest-environment happy-dom

import { beforeEach, expect, test } from 'vitest'
import type { Config } from '../config.ts'
import type { Notice } from '../notices.ts'
import { watchTrackedElements } from './watchTrackedElements.ts'

let warned: Notice[] = []
const configOf = (settings: object) =>
  ({ key: 'ABC123', base: 'https://gateway.example', ...settings }) as Config

// Started once, because its listeners can not be removed.
const configs = new Map([['ABC123', configOf({})]])
watchTrackedElements(window, configs, (notice) => warned.push(notice))
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

test('nothing is reported without a mistake', async () => {
  show('<button data-track="initiateCheckout">Pay</button>')
  click('button')
  submit(show('<form data-track="search"></form>'), false)
  submit(show('<form data-track="search" data-track-prevented="count"></form>'))
  await later()
  expect(warned).toEqual([])
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

test('nothing is reported if attributes are off for every key', async () => {
  const notices: Notice[] = []
  const off = new Map([['A', configOf({ attributes: false })]])
  watchTrackedElements(window, off, (notice) => notices.push(notice))
  const use = async () => {
    show('<button disabled data-track="initiateCheckout"><i>Pay</i></button>')
    click('i')
    await later()
  }
  await use()
  expect(notices).toEqual([])
  off.set('B', configOf({}))
  await use()
  expect(notices).toHaveLength(1)
})
