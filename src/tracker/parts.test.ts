import { expect, test } from 'vitest'
import type { Config } from './config.ts'
import { createParts, type Part } from './parts.ts'

const state = [{}, {}, {}, {}, {}, () => ''] as unknown as Parameters<Part>
const config = (key: string): Config => ({ key, base: 'https://gw.example' })

test('each part starts once, and is called for every key', () => {
  const heard: string[] = []
  const part = (name: string) => () => {
    heard.push(`${name} starts`)
    return ({ key }: Config) => void heard.push(`${name} ${key}`)
  }
  const startParts = createParts(...state)
  startParts({ a: part('a') }, config('AAAAAA'))
  startParts({ a: part('again'), b: part('b') }, config('BBBBBB'))
  expect(heard).toEqual(['a starts', 'a AAAAAA', 'b starts', 'a BBBBBB', 'b BBBBBB'])
})

test('a part that fails to start does not affect the others', () => {
  const heard: string[] = []
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
          void heard.push(key),
    },
    config('AAAAAA'),
  )
  expect(heard).toEqual(['AAAAAA'])
})
