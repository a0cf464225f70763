import { expect, test } from 'vitest'
import type { Destination } from './destination.ts'
import type { DestinationState } from './forwarding.ts'
import { createStateNews, type StateNews } from './stateNews.ts'

const MINUTE_MS = 60_000

function start() {
  const clock = { now: 1_000_000 }
  const news: StateNews[] = []
  const take = createStateNews(
    () => clock.now,
    (one) => news.push(one),
  )
  const destination = { id: 'd1', customer: 'shop', kind: 'webhook' } as Destination
  const say = (name: DestinationState['name'], since: number | null = null, id = 'd1') =>
    take({ ...destination, id }, { name, since, reason: 'a text of the destination', nextAt: null })
  return { clock, news, say, states: () => news.map(({ state }) => state) }
}

test('a destination that waits is reported once after a minute, and once when it runs again', () => {
  const { clock, news, say, states } = start()
  say('running')
  const since = clock.now
  say('waiting', since)
  clock.now += MINUTE_MS - 1
  say('waiting', since)
  expect(news).toEqual([])
  clock.now += 1
  for (let i = 0; i < 5; i++) say('waiting', since)
  expect(news).toEqual([
    { destination: 'd1', customer: 'shop', kind: 'webhook', state: 'waiting', since },
  ])
  say('running')
  say('running')
  expect(states()).toEqual(['waiting', 'running'])
})

test('one that fails for a moment is not reported, and each destination by itself', () => {
  const { clock, news, say } = start()
  for (let i = 0; i < 100; i++) {
    say('waiting', clock.now)
    clock.now += 1_000
    say('running')
  }
  expect(news).toEqual([])
  say('waiting', clock.now - MINUTE_MS, 'd2')
  say('running', null, 'd1')
  expect(news).toMatchObject([{ destination: 'd2', state: 'waiting' }])
})

test('one that has stopped is reported at once', () => {
  const { clock, say, states } = start()
  say('stopped', clock.now)
  say('stopped', clock.now)
  say('running')
  expect(states()).toEqual(['stopped', 'running'])
})

test('the words of the destination are not reported', () => {
  const { clock, news, say } = start()
  say('stopped', clock.now)
  expect(JSON.stringify(news)).not.toContain('a text of the destination')
})
