// @vitest-environment happy-dom

import { beforeEach, expect, test, vi } from 'vitest'
import { watchPresence } from './watchPresence.ts'

const loaded = vi.fn()
const onBlocked = vi.fn()
beforeEach(() => {
  loaded.mockReset().mockResolvedValue({})
  onBlocked.mockReset()
  document.head.innerHTML = TAG
  document.body.innerHTML = ''
})
const TAG = '<script type="text/plain" src="https://gateway.example/in/t/j/ABC123?x=1"></script>'
const MARK = '<i data-track="viewProduct" data-track-on="load"></i>'
const task = () => new Promise((done) => setTimeout(done))

test('the script is loaded once, when the page has an element for it', async () => {
  watchPresence(window, onBlocked, loaded)
  document.body.innerHTML = '<b data-track="viewProduct" data-track-on="click"></b>'
  await task()
  expect(loaded).not.toHaveBeenCalled()
  document.querySelector('b')?.setAttribute('data-track-on', 'visible')
  await vi.waitFor(() => expect(loaded).toHaveBeenCalledWith('https://gateway.example/in/t/p.js'))
  document.body.innerHTML = MARK
  await task()
  expect(loaded).toHaveBeenCalledTimes(1)
  expect(onBlocked).not.toHaveBeenCalled()
})

test('if it can not be loaded, the element is reported', async () => {
  loaded.mockRejectedValue(new TypeError('Failed to fetch dynamically imported module'))
  document.body.innerHTML = MARK
  watchPresence(window, onBlocked, loaded)
  await vi.waitFor(() => expect(onBlocked).toHaveBeenCalledWith(document.querySelector('i')))
})

test('nothing is loaded without a tag', async () => {
  document.head.innerHTML = ''
  document.body.innerHTML = MARK
  watchPresence(window, onBlocked, loaded)
  await task()
  expect(loaded).not.toHaveBeenCalled()
})
