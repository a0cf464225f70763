import { expect, test } from 'vitest'
import type { Config } from './config.ts'
import { createParts, type Part } from './parts.ts'

const state = [{}, {}, {}, {}, {}, () => ''] as unknown as Parameters<Part>
const config = (key: string): Config => ({ key, base: 'https://gw.example' })

test('each part starts once, and is called for every key', () => {
  const calls: string[] = []
  const part = (name: string) => () => {
    calls.push(`${name} starts`)
    return ({ key }: Config) => void calls.push(`${name} ${key}`)
  }
  const startParts = createParts(...state)
  startParts({ a: part('a') }, config('AAAAAA'))
  startParts({ a: part('again'), b: part('b') }, config('BBBBBB'))
  expect(calls).toEqual(['a starts', 'a AAAAAA', 'b starts', 'a BBBBBB', 'b BBBBBB'])
})

test('a part that fails to start does not affect the others', () => {
  const calls: string[] = []
  const startParts = createParts(...state)
  startParts(
    {
      broken: () => {
        throw new ReferenceError('IntersectionObserver is not defined')
      },
      brokenLater: () => () => {
        throw new Error('later')
      },
      good:
        () =>
        ({ key }) =>
          void calls.push(key),
    },
    config('AAAAAA'),
  )
  expect(calls).toEqual(['AAAAAA'])
})

test('functions on Object.prototype are not called', () => {
  let calls = 0
  const each = () => void calls++
  Object.assign(Object.prototype, { each })
  try {
    createParts(...state)({ own: () => undefined }, config('AAAAAA'))
  } finally {
    Reflect.deleteProperty(Object.prototype, 'each')
  }
  expect(calls).toBe(0)
})
