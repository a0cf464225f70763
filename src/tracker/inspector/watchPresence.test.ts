// @vitest-environment happy-dom

import { beforeEach, expect, test, vi } from 'vitest'
import { watchPresence } from './watchPresence.ts'

const loaded = vi.fn()
const onBlocked = vi.fn()
beforeEach(() => {
  loaded.mockReset().mockResolvedValue({})
  onBlocked.mockReset()
  document.body.innerHTML = ''
})
const BASE = 'https://gateway.example/in'
const MARK = '<i data-track="viewProduct" data-track-on="load"></i>'
const task = () => new Promise((done) => setTimeout(done))

test('the script is loaded once, when the page has an element for it', async () => {
  watchPresence(window, BASE, onBlocked, loaded)
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
  watchPresence(window, BASE, onBlocked, loaded)
  await vi.waitFor(() => expect(onBlocked).toHaveBeenCalledWith(document.querySelector('i')))
})
