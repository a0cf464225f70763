import { expect, test } from 'vitest'
import { pageHeaders } from './operators.ts'

test('an operator’s page may do nothing that it is not allowed by name', () => {
  const policy = pageHeaders()['content-security-policy'] ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
})

test('a page may differ in one directive, and only in that', () => {
  const usual = pageHeaders()['content-security-policy'] ?? ''
  const differs = pageHeaders({ 'style-src': "'self' 'unsafe-inline'" })['content-security-policy']
  expect(differs).toBe(usual.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"))
})
