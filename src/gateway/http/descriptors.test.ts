import { expect, test } from 'vitest'
import { chooseMaxConnections, readDescriptorLimit } from './descriptors.ts'

test.each([
  [undefined, 1_048_576, 2_048],
  [undefined, Number.POSITIVE_INFINITY, 2_048],
  [undefined, 1_024, 924],
  [undefined, 64, 1],
  [900, 1_024, 900],
  [924, 1_024, 924],
  [50_000, Number.POSITIVE_INFINITY, 50_000],
])('%s connections wanted, %i files allowed: %i', (wanted, limit, chosen) => {
  expect(chooseMaxConnections(wanted, limit)).toBe(chosen)
})

test('more connections than the process may open is an error with the remedy', () => {
  expect(() => chooseMaxConnections(925, 1_024)).toThrow(
    /MAX_CONNECTIONS is 925, .* may open only 1024 files.*ulimit -n.*at most 924/,
  )
})

test('the limit of this process is read if the system reports it', () => {
  const limit = readDescriptorLimit()
  if (process.platform === 'linux') expect(Number.isInteger(limit)).toBe(true)
  expect(limit).toBeGreaterThan(0)
  expect(readDescriptorLimit('/no/such/file')).toBe(Number.POSITIVE_INFINITY)
})
