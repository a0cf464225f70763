// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { watchTrack } from '../../test/watchTrack.ts'
import type { Config } from '../config.ts'
import type { InspectorState } from '../debug.ts'
import type { Notice, Seen } from '../notices.ts'
import { createParts } from '../parts.ts'
import { createPart } from './part.ts'

const settled = () => new Promise((resolve) => setTimeout(resolve))
const KINDS = ['accepted', 'sent', 'dropped'] as const

test.each([0, 1, 2, 3, 4, 5])(
  'the inspector gets every notice since debug mode began exactly once, %i microtasks after one',
  async (microtasks) => {
    const { state, track } = watchTrack({})
    const [, configs, notices, , , , , outbox] = state
    const all: Notice[] = []
    for (const kind of KINDS) notices.on(kind, (notice) => all.push(notice))
    const got: Notice[] = []
    const start = ({ seen }: InspectorState) => {
      got.push(...seen.map(([, notice]) => notice))
      for (const kind of KINDS) notices.on(kind, (notice) => got.push(notice))
      return () => {}
    }
    const startParts = createParts(...state)
    notices.seen = []
    track('search', { search_term: 'before' }, { from: 'attribute' })
    await settled()
    track('search', { search_term: 'just before' })
    track('search', {})
    for (let n = 0; n < microtasks; n++) await 0
    startParts({ inspector: createPart(start) }, [...configs.values()][0] as Config)
    track('search', { search_term: 'after' })
    await settled()
    expect(got).toHaveLength(all.length)
    expect(new Set(got)).toEqual(new Set(all))
    expect(all.map(({ from }) => from)).toContain('attribute')
    expect(outbox.own()).toHaveLength(3)
  },
)

test('it is started once, with the state of the script, and then nothing is recorded any more', () => {
  const { state } = watchTrack({}, { key: 'OTHER1' })
  const [, configs, notices, , , , , outbox, , helpers] = state
  const got: InspectorState[] = []
  const startParts = createParts(...state)
  const [config] = [...configs.values()] as [Config]
  let opened = 0
  const inspector = createPart((given) => {
    got.push(given)
    return () => opened++
  })
  const seen: Seen[] = [['accepted', { id: '1' }, 5]]
  notices.seen = seen
  startParts({ inspector }, config)
  expect(got).toEqual([{ helpers, configs, outbox, seen }])
  expect(got[0]?.seen).toBe(seen)
  expect(notices.seen).toBeUndefined()
  // Another key joins, then debug mode is switched on again.
  startParts({ inspector }, config)
  expect(opened).toBe(0)
  notices.seen = []
  startParts({ inspector }, config)
  expect(opened).toBe(1)
  expect(got).toHaveLength(1)
  expect(notices.seen).toBeUndefined()
})
