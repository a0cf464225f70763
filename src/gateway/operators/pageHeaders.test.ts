import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { PREVIEW_STYLES, pageHeaders } from './pageHeaders.ts'

async function headersOf(...args: Parameters<typeof pageHeaders>): Promise<Headers> {
  const app = new Hono().use(pageHeaders(...args)).get('/', (context) => context.text('page'))
  return (await app.request('/')).headers
}

test('a page may do only what its policy names', async () => {
  const headers = await headersOf()
  const policy = headers.get('content-security-policy')
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; ")
  expect(policy).toContain("base-uri 'none'; frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(headers.get('x-frame-options')).toBe('DENY')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  expect(headers.has('strict-transport-security')).toBe(false)
})

test('the page with previews differs only in its styles', async () => {
  const usual = (await headersOf()).get('content-security-policy')
  const policy = (await headersOf(PREVIEW_STYLES)).get('content-security-policy')
  expect(policy).toBe(usual?.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"))
})
