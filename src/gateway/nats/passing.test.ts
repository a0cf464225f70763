import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { EngineAway } from '../engine/engineAway.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { findPassing, throwAway } from './passing.ts'

const nobody = new errors.RequestError('no responders', {
  cause: new errors.NoRespondersError('$KV.a.b'),
})
const apiError = (err_code: number, description: string) =>
  new JetStreamApiError({ code: 503, err_code, description })

test.each([
  [new errors.TimeoutError(), 'timeout'],
  [new Error('jetstream is not enabled', { cause: nobody }), 'no server answers'],
  [apiError(10008, 'temporarily unavailable'), 'temporarily unavailable'],
  [
    new Unavailable('No follower holds it', 5, new errors.NoRespondersError('a')),
    'No follower holds it',
  ],
])('%s passes', (error, reason) => {
  expect(findPassing(error)).toBe(reason)
})

test.each([
  apiError(10058, 'name in use'),
  new Error('not enabled', { cause: apiError(10039, 'not enabled') }),
  new Unavailable('The disk is full'),
  new TypeError('x'),
  new EngineAway('Start it', 'away', new errors.TimeoutError()),
  'text',
])('%s stays', (error) => {
  expect(findPassing(error)).toBeUndefined()
})

test('a start waits for what passes, and ends with other errors', () => {
  const passing = new Error('jetstream is not enabled', { cause: nobody })
  expect(() => throwAway(passing)).toThrow(EngineAway)
  expect(() => throwAway(apiError(10058, 'name in use'))).toThrow(JetStreamApiError)
})
