import { headers } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { readAnswer } from './publisher.ts'

const answer = (text: string, status?: number) =>
  readAnswer({ data: Buffer.from(text), ...(status && { headers: headers(status, 'x') }) })
const error = (code: number, err_code: number, description: string) =>
  answer(JSON.stringify({ error: { code, err_code, description }, stream: '', seq: 0 }))

test('acknowledgements', () => {
  expect(answer('{"stream":"s","seq":7}')).toEqual({ seq: 7, isDuplicate: false })
  expect(answer('{"stream":"s", "domain":"d","seq":9007199254740991,"duplicate":true}')).toEqual({
    seq: Number.MAX_SAFE_INTEGER,
    isDuplicate: true,
  })
})

test('without a leader the message is sent again', () => {
  expect(answer('', 503)).toBe('again')
  expect(error(503, 10008, 'JetStream system temporarily unavailable')).toBe('again')
  expect(error(503, 10077, 'raft: not leader')).toBe('again')
})

test.each([
  ['of the stream', 503, 10077, 'maximum bytes exceeded'],
  ['of the account', 400, 10002, 'resource limits exceeded for account'],
  ['of the disk', 500, 10047, 'insufficient storage resources available'],
  ['of the cluster', 503, 10023, 'insufficient resources'],
])('a limit %s is reported with the limit', (_, code, err_code, description) => {
  expect(error(code, err_code, description)).toMatchObject({
    name: 'Unavailable',
    message: expect.stringMatching(`is full \\(${description}\\)`),
  })
})

test('other answers are errors, whose text is bounded', () => {
  const refused = error(400, 10054, `message size exceeds maximum${'x'.repeat(999)}`)
  expect((refused as Error).message).toMatch(/^The event log refuses the event: message size/)
  expect((refused as Error).message.length).toBeLessThan(300)
  for (const text of ['', '{', '{"seq":0}', '{"seq":"7"}', 'null', `{"seq":7}${' '.repeat(5_000)}`])
    expect((answer(text) as Error).message).toMatch('something else than expected')
})
