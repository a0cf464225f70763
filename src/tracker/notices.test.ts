import { expect, test, vi } from 'vitest'
import { createNotices, type Notice, type Seen } from './notices.ts'

const settled = () => new Promise((resolve) => setTimeout(resolve))

test('a listener gets only its kind, in order, until it is removed', async () => {
  const { emit, on } = createNotices()
  const received: Notice[] = []
  const undo = on('accepted', (notice) => received.push(notice))
  emit('accepted', { id: '1' })
  emit('dropped', { id: '2' })
  emit('accepted', { id: '3' })
  await settled()
  undo()
  emit('accepted', { id: '4' })
  await settled()
  expect(received).toEqual([{ id: '1' }, { id: '3' }])
})

test('a listener is called in a later microtask', async () => {
  const { emit, on } = createNotices()
  const listener = vi.fn()
  on('delivered', listener)
  emit('delivered', { id: '1' })
  expect(listener).not.toHaveBeenCalled()
  await settled()
  expect(listener).toHaveBeenCalledExactlyOnceWith({ id: '1' })
})

test('an error or rejection of a listener has no effect', async () => {
  const { emit, on } = createNotices()
  const rejections = vi.fn()
  process.on('unhandledRejection', rejections)
  on('dropped', () => {
    throw new Error('of the shop')
  })
  on('dropped', async () => {
    throw new Error('of the shop')
  })
  on('dropped', null as never)
  const listener = vi.fn()
  on('dropped', listener)
  emit('dropped', { reason: 'too_old' })
  await settled()
  await settled()
  process.off('unhandledRejection', rejections)
  expect(listener).toHaveBeenCalledOnce()
  expect(rejections).not.toHaveBeenCalled()
})

test('the same listener can be added twice, and is removed one by one', async () => {
  const { emit, on } = createNotices()
  const listener = vi.fn()
  const undo = on('accepted', listener)
  on('accepted', listener)
  undo()
  undo()
  emit('accepted', {})
  await settled()
  expect(listener).toHaveBeenCalledOnce()
})

test('while notices are recorded, each is recorded with its kind and time, before its listeners run', async () => {
  const notices = createNotices()
  const seen: Seen[] = []
  const heard: number[] = []
  notices.on('held', () => heard.push(seen.length))
  notices.emit('held', { id: '0' })
  await settled()
  notices.seen = seen
  const before = Date.now()
  notices.emit('held', { id: '1' })
  notices.emit('sent', { id: '2' })
  await settled()
  notices.seen = undefined
  notices.emit('sent', { id: '3' })
  await settled()
  expect(seen.map(([kind, { id }]) => [kind, id])).toEqual([
    ['held', '1'],
    ['sent', '2'],
  ])
  for (const [, , at] of seen) expect(Math.abs(at - before)).toBeLessThan(60_000)
  expect(heard[0]).toBe(0)
  expect(heard[1]).toBeGreaterThan(0)
})

test('a listener that is added in the same task gets earlier notices', async () => {
  const { emit, on } = createNotices()
  const listener = vi.fn()
  emit('accepted', { id: '1' })
  on('accepted', listener)
  await settled()
  on('accepted', () => expect.unreachable())
  expect(listener).toHaveBeenCalledExactlyOnceWith({ id: '1' })
})
