import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import {
  BROWSER_INPUTS,
  bundleTracker,
  CLIENT_INPUTS,
  GATEWAY_INPUTS,
  refuseForeign,
} from './bundles.mjs'
import { findFaults } from './sizes.mjs'

test('the script is one expression: a function of the configuration and the parts', async () => {
  const { code } = await bundleTracker('1.2.3')

  expect(code).toMatch(/^\(function\(\w+,\w+\)\{"use strict";.*\}\)$/s)
  expect(runInNewContext(`typeof ${code}`)).toBe('function')
})

const imports = [
  [BROWSER_INPUTS, 'src/tracker/lib/uuid.ts', true],
  [BROWSER_INPUTS, 'src/contract/index.ts', true],
  [BROWSER_INPUTS, 'node_modules/valibot/dist/index.mjs', true],
  [BROWSER_INPUTS, 'node_modules/hono/dist/index.js', false],
  [BROWSER_INPUTS, 'node_modules/valibot-extra/index.js', false],
  [BROWSER_INPUTS, 'src/gateway/keys.ts', false],
  [BROWSER_INPUTS, 'src/client/index.ts', false],
  [CLIENT_INPUTS, 'src/client/send.ts', true],
  [CLIENT_INPUTS, 'node_modules/valibot/dist/index.mjs', true],
  [CLIENT_INPUTS, 'src/gateway/keys.ts', false],
  [CLIENT_INPUTS, 'src/tracker/lib/uuid.ts', false],
  [CLIENT_INPUTS, 'node_modules/undici/index.js', false],
  [GATEWAY_INPUTS, 'src/client/index.ts', true],
  [GATEWAY_INPUTS, 'src/gateway/sqlite/worker.ts', true],
  [GATEWAY_INPUTS, 'src/tracker/outbox.ts', false],
  [GATEWAY_INPUTS, 'e2e/fixtures.ts', false],
]
test.each(imports)('a bundle that may hold %s with %s: %s', (allowed, path, isAllowed) => {
  const build = () => refuseForeign(['src/contract/index.ts', path], allowed, 'x')

  if (isAllowed) expect(build).not.toThrow()
  else expect(build).toThrow(path)
})

test('a file above its budget fails the build, which says by how much', () => {
  const sizes = [{ file: 'track.js', brotli: 5510 }]

  expect(findFaults(sizes, { 'track.js': 5500 })).toEqual([
    expect.stringContaining('5510 bytes (brotli), 10 above its budget of 5500'),
  ])
  expect(findFaults(sizes, { 'track.js': 5510 })).toEqual([])
})

test('a budget of a file that is not built is no budget', () => {
  expect(findFaults([], { 'track.js': 5500 })).toEqual([
    expect.stringContaining('track.js, which is not built'),
  ])
})
