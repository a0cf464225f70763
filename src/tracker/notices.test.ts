import { expect, test, vi } from 'vitest'
import { createNotices, type Notice } from './notices.ts'

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

test('a listener that is added in the same task gets earlier notices', async () => {
  const { emit, on } = createNotices()
  const listener = vi.fn()
  emit('accepted', { id: '1' })
  on('accepted', listener)
  await settled()
  on('accepted', () => expect.unreachable())
  expect(listener).toHaveBeenCalledExactlyOnceWith({ id: '1' })
})
