import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import {
  addForwardMetrics,
  type ForwardFigures,
  OTHERS,
  SHOWN_DESTINATIONS,
} from './forwardMetrics.ts'

const figuresOf = (id: string, given: Partial<ForwardFigures> = {}): ForwardFigures => ({
  ...{ id, state: 'running', lagEvents: 5, lagMs: 1_500, delivered: 7, failed: 2, lost: 1 },
  letters: 3,
  ...given,
})

async function render(list: () => Promise<readonly ForwardFigures[]>): Promise<string[]> {
  const register = new Registry()
  addForwardMetrics([register], list)
  const text = await register.metrics()
  // Counters do not add up from one answer to the next.
  expect(await register.metrics()).toBe(text)
  return text.split('\n').filter((line) => line && !line.startsWith('#'))
}

test('each destination has its figures', async () => {
  const lines = await render(async () => [figuresOf('a'), figuresOf('b', { state: 'waiting' })])
  expect(lines.filter((line) => !line.includes('"b"'))).toEqual([
    'forward_lag_events{destination="a"} 5',
    'forward_lag_seconds{destination="a"} 1.5',
    'forward_dead_letters{destination="a"} 3',
    'forward_delivered_total{destination="a"} 7',
    'forward_failed_total{destination="a"} 2',
    'forward_lost_total{destination="a"} 1',
    'forward_destinations{state="running"} 1',
    'forward_destinations{state="waiting"} 1',
  ])
})

test('the number of labels is bounded, and nothing is missing in the sums', async () => {
  const all = Array.from({ length: SHOWN_DESTINATIONS + 3 }, (_, i) => figuresOf(`d${i}`))
  const lines = await render(async () => [...all.slice(0, -1), figuresOf('last', { lagMs: 9_000 })])
  expect(lines.filter((line) => line.startsWith('forward_lag_events'))).toHaveLength(
    SHOWN_DESTINATIONS + 1,
  )
  expect(lines).toContain(`forward_delivered_total{destination="${OTHERS}"} 21`)
  expect(lines).toContain(`forward_lag_seconds{destination="${OTHERS}"} 9`)
  expect(lines).toContain(`forward_destinations{state="running"} ${SHOWN_DESTINATIONS + 3}`)
})

test('without an answer there are no figures, and the other metrics are still there', async () => {
  expect(await render(() => Promise.reject(new Error('The forwarding is closed')))).toEqual([])
})
