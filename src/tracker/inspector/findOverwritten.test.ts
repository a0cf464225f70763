import { expect, test } from 'vitest'
import type { Config } from '../config.ts'
import type { TrackApi } from '../global.d.ts'
import { findOverwritten } from './findOverwritten.ts'

const helpers = { version: '1.0.0' } as TrackApi
const own = () => {}
const find = (page: object, global?: string) =>
  findOverwritten(page, {
    helpers,
    configs: new Map([['K', { key: 'K', base: '', ...(global && { global }) } satisfies Config]]),
  })

test.each([
  ['at the usual name', { track: helpers }, undefined],
  ['at the name of the tag or of the key', { track: own, events: helpers }, 'events'],
])('helpers %s: no text', (_, page, global) => {
  expect(find(page, global)).toBeUndefined()
})

test.each([
  [undefined, 'track'],
  ['events', 'events'],
])('the page has a variable of that name: %s', (global, name) => {
  expect(find({ [name]: own, shoptrail: helpers }, global)).toMatch(
    RegExp(`^track: the page has a \`${name}\` of its own.+\`shoptrail\`\\n  fix: `),
  )
})

test('the page has overwritten the helpers', () => {
  expect(find({ track: own })).toMatch(
    /^track: the page has overwritten .+\n {2}fix: .+data-global/,
  )
})

test('the page bundles the tracker, which makes no variable', () => {
  expect(find({})).toBeUndefined()
})
