// @vitest-environment happy-dom

import { beforeEach, expect, test } from 'vitest'
import { createStore } from '../lib/storage.ts'
import { createPanelMemory } from './panelMemory.ts'

const DEFAULT = { shown: 'open', tab: 'events', place: undefined, reported: [] }
const memory = createPanelMemory(createStore(() => sessionStorage))
beforeEach(() => sessionStorage.clear())

test('what was written is read', () => {
  const look = { shown: 'minimised', tab: 'state', place: [10, 20], reported: ['search'] } as const
  memory.write(look)
  expect(memory.read()).toEqual(look)
  expect(Object.keys(sessionStorage)).toEqual(['track.panel'])
})

test.each([
  '',
  '{',
  'null',
  '7',
  '[]',
  '{"shown":"gone","tab":"x","place":[1],"reported":"y"}',
  '{"place":["1",2],"reported":[1,null]}',
  '{"place":{"length":2}}',
])('a value that is not ours is not used: %s', (value) => {
  sessionStorage.setItem('track.panel', value)
  expect(memory.read()).toEqual(DEFAULT)
})

test('nothing is kept while storage is closed', () => {
  const closed = createPanelMemory(createStore(() => false))
  closed.write({ shown: 'closed', tab: 'events', reported: [] })
  expect(closed.read()).toEqual(DEFAULT)
  expect(sessionStorage).toHaveLength(0)
})
