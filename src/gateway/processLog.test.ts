import { errors } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { Unavailable } from './lib/unavailable.ts'
import { createLines } from './processLog.ts'

test('a reason why a cluster does not answer is one line a minute without a stack, other errors are all logged', () => {
  const lines: [string, unknown, string][] = []
  const write = (level: string) => (line: unknown, message: string) =>
    void lines.push([level, line, message])
  let now = 0
  const log = { info: write('info'), warn: write('warn'), error: write('error') }
  const { onError, onBackgroundError } = createLines(log as never, () => now)
  const unheld = new Unavailable('No follower holds it', 5, new errors.NoRespondersError('a'))

  for (let times = 0; times < 3; times++) {
    onError(unheld, '/a')
    onBackgroundError(new errors.TimeoutError(), 'the leases')
  }
  const message = expect.stringContaining('It is tried again')
  expect(lines.splice(0)).toEqual([
    ['warn', { route: '/a', reason: 'No follower holds it' }, message],
    ['warn', { what: 'the leases', reason: 'timeout' }, message],
  ])
  now = 60_001
  onError(unheld, '/a')
  expect(lines.splice(0)).toHaveLength(1)

  const err = new TypeError('x')
  onError(err, '/a')
  onError(err, 'the copy')
  expect(lines).toEqual([
    ['error', { err, route: '/a' }, 'A request failed'],
    ['error', { err, what: 'the copy' }, 'Something failed in the background'],
  ])
})
