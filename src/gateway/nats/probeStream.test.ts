import type { StreamInfo } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { hasQuorum } from './probeStream.ts'

const SECOND = 1_000_000_000
const info = (replicas: number, ages: readonly number[], leader = 'n0', offline = false) =>
  ({
    config: { num_replicas: replicas },
    cluster: {
      leader,
      replicas: ages.map((age) => ({ current: true, offline, active: age * SECOND })),
    },
  }) as unknown as Partial<StreamInfo>

test.each([
  ['a leader that hears both others', info(3, [0, 1]), true],
  ['a leader that hears one of them', info(3, [0, 60]), true],
  ['a leader that hears none of them', info(3, [30, 60]), false],
  ['others that are offline', info(3, [0, 0], 'n0', true), false],
  ['no leader', info(3, [0, 0], ''), false],
  ['a majority of five', info(5, [0, 0, 60, 60]), true],
  ['a minority of five', info(5, [0, 60, 60, 60]), false],
  ['one replica', info(1, []), true],
  ['one server without a cluster', { config: { num_replicas: 1 } } as Partial<StreamInfo>, true],
  ['an error', { error: { code: 503 } } as Partial<StreamInfo>, false],
])('quorum of a stream: %s', (_, given, expected) => {
  expect(hasQuorum(given)).toBe(expected)
})
