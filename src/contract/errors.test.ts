import { expect, expectTypeOf, test } from 'vitest'
import {
  ApiException,
  CustomerNotFoundException,
  type Issue,
  MethodNotAllowedException,
  UnauthorizedException,
  ValidationException,
} from './index.ts'

const issues: readonly Issue[] = [
  { path: 'variation.sku', message: 'Expected a value, received nothing' },
  { path: '', message: 'Expected an object, received null' },
]

const apiErrors = [
  ['ApiException', ApiException],
  ['UnauthorizedException', UnauthorizedException],
  ['CustomerNotFoundException', CustomerNotFoundException],
  ['MethodNotAllowedException', MethodNotAllowedException],
] as const

test('ValidationException has every issue, also in its message', () => {
  const error = new ValidationException(issues)
  expect(error).toBeInstanceOf(Error)
  expect(error).not.toBeInstanceOf(ApiException)
  expect(error.name).toBe('ValidationException')
  expect(error.issues).toEqual(issues)
  expect(error.message).toBe(
    'variation.sku: Expected a value, received nothing; Expected an object, received null',
  )
  expect(`${error}`).toBe(`ValidationException: ${error.message}`)
  expect(error.stack).toContain('errors.test')
})

test.each(apiErrors)('%s is recognized by instanceof and by name', (name, Exception) => {
  const error = new Exception('No such campaign', { status: 404, issues, body: { a: 1 } })
  expect(error).toBeInstanceOf(Error)
  expect(error).toBeInstanceOf(ApiException)
  expect(error).toBeInstanceOf(Exception)
  expect(error).not.toBeInstanceOf(ValidationException)
  expect(error).toMatchObject({ name, status: 404, issues, body: { a: 1 } })
  expect(error.message).toBe('No such campaign')
  expect(`${error}`).toBe(`${name}: No such campaign`)
  for (const [other, Other] of apiErrors)
    if (other !== name && other !== 'ApiException') expect(error).not.toBeInstanceOf(Other)
})

test.each(apiErrors)('%s without an answer: status 0, no issues, no body', (_name, Exception) => {
  const error = new Exception('No answer')
  expect(error.status).toBe(0)
  expect(error.issues).toEqual([])
  expect(error.body).toBeUndefined()
  expect(error.mayHaveArrived).toBe(false)
  expect('cause' in error).toBe(false)
})

test('an error says that the request may have been carried out', () => {
  expect(new ApiException('No answer', { mayHaveArrived: true }).mayHaveArrived).toBe(true)
})

test('a cause is kept, as Error itself keeps it', () => {
  const cause = new TypeError('fetch failed')
  const error = new ApiException('No answer', { cause })
  expect(error.cause).toBe(cause)
  expect(Object.keys(error)).not.toContain('cause')
})

test('the name is part of the type', () => {
  expectTypeOf<ValidationException['name']>().toEqualTypeOf<'ValidationException'>()
  expectTypeOf<UnauthorizedException['name']>().toEqualTypeOf<'UnauthorizedException'>()
  expectTypeOf<CustomerNotFoundException['name']>().toEqualTypeOf<'CustomerNotFoundException'>()
  expectTypeOf<MethodNotAllowedException['name']>().toEqualTypeOf<'MethodNotAllowedException'>()
  expectTypeOf<ApiException['status']>().toEqualTypeOf<number>()
  expectTypeOf<ValidationException['issues']>().toEqualTypeOf<readonly Issue[]>()
  const error = new ValidationException(issues)
  // @ts-expect-error issues can not be changed
  error.issues = []
  // @ts-expect-error an issue needs a path
  new ValidationException([{ message: 'x' }])
})
