// @vitest-environment happy-dom

import { afterEach, expect, test } from 'vitest'
import { SETTINGS } from '../../contract/settings.ts'
import { findUnknown } from './findUnknown.ts'

afterEach(() => {
  document.head.innerHTML = ''
})

const addTag = (attributes: string) =>
  document.head.insertAdjacentHTML(
    'beforeend',
    `<script type="none" src="https://gw.example/t/j/AAAAAA" ${attributes}></script>`,
  )

test.each([
  ['data-event-prefx', 'data-event-prefix'],
  ['data-eventprefix', 'data-event-prefix'],
  ['data-page-view', 'data-page-views'],
  ['data-max-age-day', 'data-max-age-days'],
  ['data-sorce', 'data-source'],
])('%s is reported, with the right name %s', (wrong, right) => {
  addTag(`${wrong}="x"`)
  expect(findUnknown(window)).toEqual([
    `track: ${wrong} on the script's tag is ignored\n  why: A tag has no such setting.\n  fix: Did you mean ${right}?`,
  ])
})

/** Settings that a tag can not set. */
const OF_KEY = ['events', 'consentSources', 'consentCategory', 'tcfPurposes', 'tcfVendor']

test.each(OF_KEY)('%s on a tag is reported, since a tag can not set it', (name) => {
  addTag('')
  ;(document.querySelector('script') as HTMLScriptElement).dataset[name] = 'x'
  expect(findUnknown(window)).toEqual([
    expect.stringMatching(RegExp(`data-.+ignored[\\s\\S]+--config '\\{"${name}":`)),
  ])
})

test('no known setting is reported', () => {
  for (const name of Object.keys(SETTINGS).filter((name) => !OF_KEY.includes(name))) {
    addTag('')
    const tags = document.querySelectorAll('script')
    ;(tags[tags.length - 1] as HTMLScriptElement).dataset[name] = 'x'
  }
  expect(findUnknown(window)).toEqual([])
})

test.each([
  'data-base',
  'data-src',
  'data-type',
  'data-cfasync',
  'data-category',
  'data-turbo-track',
])('%s of something else is not reported', (name) => {
  addTag(`${name}="x"`)
  expect(findUnknown(window)).toEqual([])
})

test('the tags of all keys are read, and no other tags', () => {
  addTag('data-sorce="x"')
  addTag('data-globl="x"')
  document.head.insertAdjacentHTML('beforeend', '<script type="none" data-sorce="x"></script>')
  expect(findUnknown(window)).toHaveLength(2)
})
