// @vitest-environment happy-dom
import { afterEach, expect, test } from 'vitest'
import { createMemoryStorage } from '../../test/storage.ts'
import { readSwitch } from './readSwitch.ts'
import { createStore } from './storage.ts'

afterEach(() => history.replaceState({}, '', '/'))

/** Visits pages one after the other. Returns for each whether the switch is on. */
function visit(searches: readonly string[], storage = createMemoryStorage()) {
  const store = createStore(() => storage)
  return searches.map((search) => {
    history.replaceState({}, '', `/p${search}`)
    return Boolean(readSwitch('track.ignore', store))
  })
}

test('off until the URL switches it on, and then on for all later pages', () => {
  expect(visit(['', '?track_ignore=1', '', '?x=1', '?x=1&track_ignore=0#a', ''])).toEqual([
    ...[false, true, true],
    ...[true, false, false],
  ])
})

test.each([
  '?xtrack_ignore=1',
  '?track_ignore',
  '?track_ignore=',
  '?track_ignore=x',
  '#track_ignore=1',
])('%s is ignored', (search) => {
  expect(visit([search, '?track_ignore=1', search])).toEqual([false, true, true])
})

test('without storage it is on for the page itself', () => {
  expect(visit(['?track_ignore=1', ''], null as never)).toEqual([true, false])
})

test('nothing is stored without the parameter', () => {
  const storage = createMemoryStorage()
  visit(['', '?x=1'], storage)
  expect(storage).toHaveLength(0)
})
