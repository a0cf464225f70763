import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { createPublicFiles } from './publicFiles.ts'

const outside = makeFolder()
const root = join(outside, 'public')
mkdirSync(join(root, 'shop/img'), { recursive: true })
writeFileSync(join(outside, 'secret.txt'), 'secret')
writeFileSync(join(root, 'shop/index.html'), '<p>ă</p>')
writeFileSync(join(root, 'shop/page.js'), 'export {}')
writeFileSync(join(root, 'shop/empty.css'), '')
writeFileSync(join(root, 'shop/.hidden'), 'hidden')
writeFileSync(join(root, 'shop/odd.thing'), 'odd')
afterAll(() => rmSync(outside, { recursive: true }))

const find = createPublicFiles(root)

test.each([
  ['/shop/index.html', 'text/html; charset=utf-8', '<p>ă</p>'],
  ['/shop/', 'text/html; charset=utf-8', '<p>ă</p>'],
  ['/shop', 'text/html; charset=utf-8', '<p>ă</p>'],
  ['/shop/page.js', 'text/javascript; charset=utf-8', 'export {}'],
  ['/shop/empty.css', 'text/css; charset=utf-8', ''],
  ['/shop/odd.thing', 'application/octet-stream', 'odd'],
])('%s', async (path, type, text) => {
  const response = find(path) as Response
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toEqual({
    'content-type': type,
    'content-length': `${Buffer.byteLength(text)}`,
    'cache-control': 'no-cache',
    'last-modified': expect.stringMatching(/ GMT$/),
    'x-content-type-options': 'nosniff',
  })
  expect(await response.text()).toBe(text)
})

test.each([
  '/shop/none.js',
  '/shop/img/',
  '/shop/page.js/',
  '/shop/page.js/x',
  '/shop/.hidden',
  '/shop/../../secret.txt',
  '/shop/%2e%2e/%2e%2e/secret.txt',
  '/shop/..%2f..%2fsecret.txt',
  '/shop/..\\..\\secret.txt',
  '//shop/index.html',
  '/shop//index.html',
  '/shop/\0',
  '/shop/page%2ejs',
  `/shop/${'x'.repeat(10_000)}`,
  `${'/x'.repeat(5_000)}`,
])('%s is not a file', (path) => {
  expect(find(path)).toBeUndefined()
})

test('a changed file is served as it is now, a removed one is not', async () => {
  const file = join(root, 'shop/changing.js')
  writeFileSync(file, 'before')
  expect(await find('/shop/changing.js')?.text()).toBe('before')
  writeFileSync(file, 'after!')
  // The same size, and on a file system with coarse times.
  utimesSync(file, 1_000, 1_000)
  expect(await find('/shop/changing.js')?.text()).toBe('after!')
  rmSync(file)
  expect(find('/shop/changing.js')).toBeUndefined()
  // A socket, a pipe or a folder in its place is not served.
  mkdirSync(file)
  expect(find('/shop/changing.js')).toBeUndefined()
  rmSync(file, { recursive: true })
  symlinkSync('/dev/null', file)
  expect(find('/shop/changing.js')).toBeUndefined()
})
