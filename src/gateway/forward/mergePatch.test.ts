import { expect, test } from 'vitest'
import { mergePatch } from './mergePatch.ts'

/** The examples of RFC 7396, appendix A, whose target and patch are objects. */
test.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ a: 'text' }, { a: { b: 1 } }, { a: { b: 1 } }],
])('%j with %j is %j', (target, patch, expected) => {
  const before = JSON.stringify(target)
  expect(mergePatch(target, patch)).toEqual(expected)
  expect(JSON.stringify(target)).toBe(before)
})

test('a name of the prototype is a field like any other', () => {
  const patch = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"x":2}}')
  const merged = mergePatch({}, patch)
  expect(JSON.stringify(merged)).toBe('{"__proto__":{"polluted":1},"constructor":{"x":2}}')
  expect({}).not.toHaveProperty('polluted')
})

test('a patch that is nested too deeply is refused', () => {
  const nested = (levels: number) =>
    JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as Record<string, unknown>
  expect(() => mergePatch({}, nested(8))).not.toThrow()
  expect(() => mergePatch({}, nested(9))).toThrow('at most 8 levels')
})
