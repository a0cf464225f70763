import { expect, test } from 'vitest'
import { ValidationException } from '../../contract/index.ts'
import { createNotices, type Notice } from '../notices.ts'
import { startConsole } from './startConsole.ts'

async function say(...told: Notice[]) {
  const notices = createNotices()
  const printed: string[] = []
  const stop = startConsole((listener) => notices.on('dropped', listener as never), {
    warn: (text: string) => void printed.push(text.split('\n')[0] ?? ''),
  })
  for (const notice of told) notices.tell('dropped', notice)
  await Promise.resolve()
  return { notices, printed, stop }
}

test('once a code and event name', async () => {
  const one = { operation: 'add_to_cart', code: 'ga4-item-id', reason: 'invalid' } as const
  const { printed } = await say(one, { ...one, where: {} }, { ...one, operation: 'view_item' })
  expect(printed).toEqual([
    'track: add_to_cart was not sent (ga4-item-id)',
    'track: view_item was not sent (ga4-item-id)',
  ])
})

test('once for each set of faults of a payload', async () => {
  const fault = (path: string): Notice => ({
    operation: 'search',
    reason: 'invalid',
    error: new ValidationException([{ path, message: 'wrong' }]),
  })
  const { printed } = await say(fault('search_term'), fault('url'), fault('url'))
  expect(printed).toHaveLength(2)
})

test('stops', async () => {
  const { notices, printed, stop } = await say()
  stop()
  notices.tell('dropped', { code: 'order' })
  await Promise.resolve()
  expect(printed).toEqual([])
})
