import type { StreamInfo } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { checkUsage } from './checkAccount.ts'
import { checkNodes } from './checkNodes.ts'
import { checkStreams, type StreamState } from './checkStreams.ts'
import type { Found } from './finding.ts'

const lines = (found: readonly Found[]) => found.map(({ level, message }) => `${level} ${message}`)

const node = (name: string, version: string) => ({ place: `${name}:4222`, name, version })
const NAMES = ['a', 'b', 'c']
const SERVERS = NAMES.map((name) => `${name}:4222`)

test.each([
  ['2.12.3', 'ok'],
  ['2.10.23', 'ok'],
  ['2.11.0-RC.1', 'ok'],
  ['3.0.0', 'ok'],
  ['2.10.20', 'error'],
  ['2.10.22', 'error'],
  ['2.10.19', 'warning'],
  ['2.9.10', 'warning'],
])('nodes with version %s are %s', (version, level) => {
  const found = checkNodes(
    SERVERS,
    NAMES.map((name) => node(name, version)),
  )
  expect(found.map((one) => one.level)).toEqual([level, level, level])
  for (const { fix } of found) expect(fix).toHaveLength(level === 'ok' ? 0 : 1)
})

test('too few nodes, different versions and one that is away are reported', () => {
  const found = checkNodes(
    ['a', 'b', 'c'],
    [
      node('a', '2.12.1'),
      node('b', '2.11.1'),
      { place: 'c:4222', fault: 'connection refused' },
      // Not of ENGINE: an address that only the cluster can reach.
      { place: '10.0.0.3:4222', fault: 'timeout' },
    ],
  )
  expect(lines(found)).toEqual([
    'ok a at a:4222 is nats-server 2.12.1',
    'ok b at b:4222 is nats-server 2.11.1',
    'warning No node answers at c:4222 (ENGINE): connection refused',
    'warning Only 2 nodes were reached. One that fails may stop everything',
    'warning The nodes have different versions',
  ])
})

test('an account that has nearly used up a limit is a warning', () => {
  const limits = { max_storage: 1_000, max_streams: 10, max_consumers: -1 }
  expect(lines(checkUsage('', { storage: 900, streams: 11, consumers: 5_000, limits }))).toEqual([
    'warning The account uses 900 of 1000 bytes of its storage. Above it events are answered 503',
    'warning The account uses 11 of 10 of its streams. Above it events are answered 503',
  ])
  const none = { max_storage: -1, max_streams: -1, max_consumers: -1 }
  expect(
    lines(checkUsage('', { storage: 2 ** 21, streams: 11, consumers: 5, limits: none })),
  ).toEqual(['ok JetStream is enabled. The account uses 2 MiB in 11 streams'])
})

const NOW = Date.parse('2026-11-29T12:00:00Z')
const peer = (name: string, changed = {}) => ({ name, current: true, offline: false, ...changed })

function stream(name: string, changed: Record<string, unknown> = {}): StreamState {
  const info = {
    config: { num_replicas: 3, max_bytes: -1 },
    state: { bytes: 0, last_ts: '0001-01-01T00:00:00Z' },
    cluster: { leader: 'a', replicas: [peer('b'), peer('c')] },
    ...changed,
  }
  return { name, info: info as unknown as StreamInfo }
}

test('streams that are as they should be are one line', () => {
  expect(lines(checkStreams({}, 4, [stream('x'), stream('y')], NOW))).toEqual([
    'ok 2 of 2 streams and buckets (4 partitions) have a leader, and replicas that are up to date',
  ])
})

test('streams with the same fault share a line', () => {
  const away = { cluster: { leader: 'a', replicas: [peer('b'), peer('c', { offline: true })] } }
  const behind = { cluster: { leader: 'a', replicas: [peer('b', { current: false }), peer('c')] } }
  const found = checkStreams(
    { partitions: 2 },
    4,
    [
      stream('x', away),
      stream('y', away),
      stream('behind', behind),
      stream('headless', { cluster: { replicas: [] } }),
      stream('alone', { config: { num_replicas: 1, max_bytes: -1 }, cluster: undefined }),
      stream('full', { config: { num_replicas: 3, max_bytes: 10 }, state: { bytes: 9 } }),
      { name: 'lost', info: undefined },
      { name: 'mute', info: undefined, fault: 'timeout' },
    ],
    NOW,
  )
  expect(lines(found)).toEqual([
    'error NATS_PARTITIONS is 2, but the streams were created with 4. No gateway starts',
    'warning x, y: not kept by c, which is offline',
    'warning behind: not up to date on b',
    'error headless: without a leader',
    'warning alone: kept by one node only: one that fails stops it, and may lose it',
    'warning full: nearly full: 9 of 10 bytes. Above it events are answered 503',
    'error lost: missing. A gateway that starts creates it, empty',
    'error mute: can not be read (timeout): most of the nodes that keep it are away',
  ])
  for (const { fix } of found) expect(fix).toHaveLength(1)
})

test.each([
  ['a node that is ahead', { ts: '2026-11-29T12:00:09Z' }],
  ['a node that is behind', { ts: '2026-11-29T11:59:51Z' }],
  [
    'a message from the future, of a node that does not send its time',
    { state: { last_ts: '2026-11-29T12:00:09Z' } },
  ],
])('%s is a warning about the clocks', (_, changed) => {
  expect(lines(checkStreams({}, 1, [stream('x', changed)], NOW))[0]).toBe(
    'warning The clocks of this machine and of the nodes differ by 9 s',
  )
})

test('without streams there is nothing to check', () => {
  expect(checkStreams({}, undefined, [], NOW).map(({ level }) => level)).toEqual(['note'])
})
