import { expect, test } from 'vitest'
import { UUID } from './uuid.ts'

test.each([
  ['0190a6b1-2c3d-7e4f-8a5b-6c7d8e9f0a1b', true],
  ['7C9F2F4E-1D0B-4A53-9F6E-2F6D3B0C8A11', true],
  ['7c9f2f4e1d0b4a539f6e2f6d3b0c8a11', false],
  ['{7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11}', false],
  ['7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11\n', false],
  ['7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a1g', false],
  ['', false],
])('UUID: %j', (value, expected) => {
  expect(UUID.test(value)).toBe(expected)
})
