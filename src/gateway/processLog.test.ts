import { expect, test } from 'vitest'
import { createLines, type Log } from './processLog.ts'

function capture() {
  const lines: unknown[] = []
  const write = (level: string) => (line: object, message: string) =>
    lines.push([level, line, message])
  const log = { error: write('error'), warn: write('warn') } as unknown as Log
  return { lines, ...createLines(log) }
}

test('an error in the background of a gateway is not called a request', () => {
  const { lines, onError } = capture()
  const err = new Error('ENOSPC')
  onError(err, '/t/r')
  onError(err, 'the copy of the customers')
  expect(lines).toEqual([
    ['error', { err, route: '/t/r' }, 'A request failed'],
    ['error', { err, what: 'the copy of the customers' }, 'Something failed in the background'],
  ])
})

test('a cluster that elects leaders is a warning without a stack', () => {
  const { lines, onBackgroundError } = capture()
  onBackgroundError(Object.assign(new Error('timeout'), { name: 'TimeoutError' }), 'the leases')
  expect(lines).toEqual([
    ['warn', { what: 'the leases' }, 'The cluster has not answered in time. It is tried again'],
  ])
})
