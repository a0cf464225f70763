import { expect, test } from 'vitest'
import {
  allowsConnection,
  allowsInline,
  allowsScript,
  readPolicies,
  type ScriptRequest,
} from './csp.ts'

const PAGE = 'https://shop.example/p/1'
const URL_OF_SCRIPT = 'https://t.example/t/j/KEY'

const script = (policies: string, given: Partial<ScriptRequest> = {}, page = PAGE) =>
  readPolicies(policies).every((policy) =>
    allowsScript(policy, { url: URL_OF_SCRIPT, isInHtml: true, ...given }, page),
  )
const connects = (policies: string, url = 'https://t.example/t/r', page = PAGE) =>
  readPolicies(policies).every((policy) => allowsConnection(policy, url, page))

// Rules and their sections: https://www.w3.org/TR/CSP3/
test.each([
  // 6.8.1: which directive decides.
  ['', true],
  ["frame-ancestors 'none'", true],
  ["default-src 'none'", false],
  ['default-src https://t.example', true],
  ["default-src https://t.example; script-src 'self'", false],
  ["script-src 'none'; script-src-elem https://t.example", true],
  ["script-src https://t.example; script-src-elem 'self'", false],
  ["script-src 'self'; script-src https://t.example", false],
  [' ;; SCRIPT-SRC\thttps://t.example ; ', true],
  // Several policies: all have to allow it.
  ["script-src https://t.example, default-src 'self'", false],
  ['script-src https://t.example, default-src https:', true],
  // 6.7.2.7: none, star, schemes.
  ['script-src', false],
  ["script-src 'none' https://t.example", true],
  ['script-src *', true],
  ['script-src https:', true],
  ['script-src HTTPS:', true],
  ['script-src http:', true],
  ['script-src wss:', false],
  ['script-src data:', false],
  ["script-src 'unsafe-inline' 'unsafe-eval'", false],
  // 6.7.2.8: schemes of hosts.
  ['script-src http://t.example', true],
  ['script-src t.example', true],
  ['script-src wss://t.example', false],
  ['script-src ftp://t.example', false],
  // 6.7.2.9: hosts.
  ['script-src T.Example', true],
  ['script-src *.example', true],
  ['script-src *.t.example', false],
  ['script-src example', false],
  ['script-src https://*', true],
  ['script-src *.other.example t.example', true],
  ['script-src xt.example', false],
  // 6.7.2.10: ports.
  ['script-src t.example:443', true],
  ['script-src t.example:*', true],
  ['script-src t.example:8443', false],
  ['script-src t.example:80', false],
  // 6.7.2.11: paths.
  ['script-src t.example/', true],
  ['script-src t.example/t/', true],
  ['script-src t.example/t', false],
  ['script-src t.example/t/j/KEY', true],
  ['script-src t.example/t/j/KEY/', false],
  ['script-src t.example/T/', false],
  ['script-src t.example/%74/j/KEY', true],
  ['script-src t.example/t/j/KEY?x', true],
  ['script-src t.example/%zz/', false],
  // Not a source.
  ['script-src https://t.example\\', false],
  ['script-src *t.example', false],
])('%s allows the script: %s', (policy, expected) => {
  expect(script(policy)).toBe(expected)
})

test.each<[string, Partial<ScriptRequest>, boolean]>([
  ["script-src 'nonce-abc'", { nonce: 'abc' }, true],
  ["script-src 'nonce-abc'", { nonce: 'ABC' }, false],
  ["script-src 'nonce-abc'", {}, false],
  ["script-src 'nonce-abc' https://t.example", {}, true],
  ["script-src 'nonce-' 'self'", { nonce: '' }, false],
  ["script-src 'nonce-abc' 'strict-dynamic'", { nonce: 'abc' }, true],
  ["script-src 'strict-dynamic' https://t.example", {}, false],
  ["script-src 'strict-dynamic' https:", { isInHtml: false }, true],
  ["script-src 'Strict-Dynamic'", { isInHtml: false }, true],
  ["script-src 'self'", { isInHtml: false }, false],
  ["script-src 'sha384-a+b/'", { integrity: 'sha384-a+b/' }, true],
  ["script-src 'sha384-a-b_'", { integrity: 'sha384-a+b/' }, true],
  ["script-src 'SHA384-a+b/'", { integrity: 'sha384-a+b/?x' }, true],
  ["script-src 'sha384-a+b/' 'strict-dynamic'", { integrity: 'sha384-a+b/' }, true],
  ["script-src 'sha384-a+b/'", { integrity: 'sha384-a+b/ sha256-c' }, false],
  ["script-src 'sha384-a+b/'", { integrity: 'sha384-A+b/' }, false],
  ["script-src 'sha384-a+b/'", { integrity: 'md5-x' }, false],
])('%s allows a script with %j: %s', (policy, given, expected) => {
  expect(script(policy, given)).toBe(expected)
})

test.each([
  ["script-src 'self'", 'https://shop.example/t/j/K', PAGE, true],
  ["script-src 'self'", 'https://shop.example:8443/t/j/K', PAGE, false],
  ["script-src 'self'", 'https://www.shop.example/t/j/K', PAGE, false],
  ["script-src 'self'", 'https://shop.example/t/j/K', 'http://shop.example/', true],
  ["script-src 'self'", 'http://shop.example/t/j/K', PAGE, false],
  ["script-src 'self'", 'http://shop.example:8080/t/j/K', 'http://shop.example:8080/', true],
  ['script-src t.example', 'http://t.example/t/j/K', PAGE, false],
  ['script-src t.example', 'http://t.example/t/j/K', 'http://shop.example/', true],
  ['script-src http://t.example:8787', 'http://t.example:8787/t/j/K', PAGE, true],
  ['script-src http://t.example', 'http://t.example:8787/t/j/K', PAGE, false],
  ['script-src http://localhost:*', 'http://localhost:8787/t/j/K', PAGE, true],
  ['script-src http://127.0.0.1:8787', 'http://127.0.0.1:8787/t/j/K', PAGE, true],
  ['script-src http://[::1]:8787', 'http://[::1]:8787/t/j/K', PAGE, true],
])('%s allows %s on %s: %s', (policy, url, page, expected) => {
  expect(script(policy, { url }, page)).toBe(expected)
})

test.each([
  ["connect-src 'self'", false],
  ['connect-src https://t.example', true],
  ['connect-src https://t.example/t/', true],
  ['connect-src https://t.example/t/r', true],
  ['connect-src wss://t.example', false],
  ["default-src 'self'", false],
  ["default-src 'self'; connect-src *", true],
  ['default-src https://t.example', true],
  ["script-src 'none'", true],
])('%s allows the requests: %s', (policy, expected) => {
  expect(connects(policy)).toBe(expected)
})

test.each<[string, string | undefined, boolean]>([
  ['', undefined, true],
  ["default-src 'self'", undefined, false],
  ["script-src 'unsafe-inline'", undefined, true],
  ["script-src 'unsafe-inline' 'nonce-x'", undefined, false],
  ["script-src 'unsafe-inline' 'nonce-x'", 'x', true],
  ["script-src 'unsafe-inline' 'sha256-other='", undefined, false],
  ["script-src 'unsafe-inline' 'strict-dynamic'", undefined, false],
  ["script-src 'sha256-a/b='", undefined, true],
])('%s allows a script in the page with the nonce %s: %s', (policies, nonce, expected) => {
  const all = readPolicies(policies).every((policy) => allowsInline(policy, 'sha256-a/b=', nonce))
  expect(all).toBe(expected)
})

test('a hostile policy takes no time', () => {
  for (const junk of [
    'a.'.repeat(50_000),
    '*.'.repeat(50_000),
    ';'.repeat(100_000),
    ' '.repeat(100_000),
    ','.repeat(100_000),
  ])
    expect(typeof script(`script-src ${junk}!`)).toBe('boolean')
})
