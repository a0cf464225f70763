import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { scriptName } from '../gateway/script/serveScript.ts'
import {
  BROWSER_INPUTS,
  bundleTracker,
  CLIENT_INPUTS,
  GATEWAY_INPUTS,
  INSPECTOR_INPUTS,
  refuseForeign,
} from './bundles.mjs'
import { licensesOf } from './licenses.mjs'
import { PAGE_INPUTS } from './pages.mjs'
import { DEFAULT_SET, DEVICE_COOKIE, PART_SETS, PARTS, SOURCES, scriptFile } from './partSets.mjs'
import { findFaults } from './sizes.mjs'

/** A script with two of the parts. */
const some = bundleTracker('1.2.3', ['ga4', 'dataLayer'])

test('the script is one expression: a function of the configuration', async () => {
  const { code } = await some

  expect(code).toMatch(/^\/\/# \w+\n\(function\(\w+\)\{"use strict";.*\}\)$/s)
  expect(runInNewContext(`typeof ${code}`)).toBe('function')
})

test('the script uses no function that is newer than its syntax', async () => {
  const { code } = await bundleTracker('1.2.3', PARTS)

  // ES2022 and later: Safari 14 does not have them.
  expect(code).not.toMatch(
    /\.(hasOwn|at|findLast|findLastIndex|toSorted|toReversed|with|groupBy|withResolvers|any)\(|structuredClone|randomUUID/,
  )
})

test('a script contains its own parts and no others', async () => {
  const { inputs } = await some

  expect(inputs.filter((path) => path.includes('/parts/'))).toEqual([
    'src/tracker/parts/ga4.ts',
    'src/tracker/parts/dataLayer.ts',
  ])
})

test('PARTS has every part in the folder', () => {
  const files = readdirSync(new URL('../tracker/parts', import.meta.url))
  const parts = files.filter((file) => /^\w+\.ts$/.test(file)).map((file) => basename(file, '.ts'))

  expect(parts.sort()).toEqual(PARTS.filter((part) => part !== SOURCES).sort())
})

test('the build makes exactly the scripts that the gateway serves', () => {
  const onOff = [true, false]
  const asked = new Set()
  for (const pageViews of ['all', 'off'])
    for (const attributes of onOff)
      for (const dataLayer of onOff)
        for (const ga4 of onOff)
          for (const schemaOrg of onOff)
            for (const firstParty of onOff)
              for (const more of [{}, { consent: 'required' }, { consentSources: ['tcf'] }])
                asked.add(
                  scriptName({
                    pageViews,
                    attributes,
                    dataLayer,
                    ga4,
                    schemaOrg,
                    firstParty,
                    ...more,
                  }),
                )

  expect([...asked].map((name) => `track/${name}.js`).sort()).toEqual(
    PART_SETS.map(scriptFile).sort(),
  )
})

test.each([
  [{}, false],
  [{ consent: 'granted' }, false],
  [{ consent: 'required' }, true],
  [{ consent: 'cookieless' }, true],
  [{ consentSources: [] }, false],
  [{ consentSources: ['tcf'] }, true],
  [{ gpc: true }, true],
  [{ gpc: false }, false],
  [{ dnt: true }, true],
  [{ exclude: [] }, false],
  [{ exclude: ['/account/*'] }, true],
  [{ consentReplay: false, consentEvents: 5 }, false],
])('a key with %o has the consent part: %s', (config, has) => {
  const name = scriptName({ pageViews: 'off', attributes: false, dataLayer: false, ...config })
  const hasSources = config.consentSources?.length || config.exclude?.length
  const sources = hasSources ? '-consentSources' : ''
  expect(name).toBe(has ? `consent${sources}-pageViews-attributes-dataLayer` : 'core')
})

test.each([
  [{ cookieDomain: 'auto' }, true],
  [{ firstParty: true }, true],
  [{ firstParty: false, consent: 'required' }, false],
])('a key with %o keeps the device id in a cookie: %s', (config, has) => {
  const name = scriptName({ pageViews: 'off', attributes: false, dataLayer: false, ...config })
  const set = name.split('-')

  expect(set.slice(has ? 1 : 0)).toEqual(['consent', ...DEFAULT_SET])
  expect(set.includes(DEVICE_COOKIE)).toBe(has)
})

test('only the scripts that keep the device id in a cookie contain the code for it', async () => {
  const codeOf = async (set) => (await bundleTracker('1.2.3', set)).code
  const consent = ['consent', ...DEFAULT_SET]

  expect(await codeOf(consent)).not.toContain('cookieDomain')
  expect(await codeOf([DEVICE_COOKIE, ...consent])).toContain('cookieDomain')
})

const imports = [
  [BROWSER_INPUTS, 'src/tracker/lib/uuid.ts', true],
  [BROWSER_INPUTS, 'src/contract/index.ts', true],
  [BROWSER_INPUTS, 'node_modules/valibot/dist/index.mjs', true],
  [BROWSER_INPUTS, 'node_modules/hono/dist/index.js', false],
  [BROWSER_INPUTS, 'node_modules/valibot-extra/index.js', false],
  [BROWSER_INPUTS, 'src/gateway/customers/keys.ts', false],
  [BROWSER_INPUTS, 'src/client/index.ts', false],
  [BROWSER_INPUTS, 'node_modules/preact/dist/preact.mjs', false],
  [INSPECTOR_INPUTS, 'src/tracker/inspector/startPanel.tsx', true],
  [INSPECTOR_INPUTS, 'node_modules/preact/dist/preact.mjs', true],
  [INSPECTOR_INPUTS, 'node_modules/preact-extra/index.js', false],
  [INSPECTOR_INPUTS, 'public/operator/frame.tsx', false],
  [INSPECTOR_INPUTS, 'src/gateway/routes.ts', false],
  [PAGE_INPUTS, 'public/operator/frame.tsx', true],
  [PAGE_INPUTS, 'node_modules/preact/dist/preact.mjs', true],
  [PAGE_INPUTS, 'src/gateway/routes.ts', false],
  [PAGE_INPUTS, 'node_modules/valibot/dist/index.mjs', false],
  [CLIENT_INPUTS, 'src/client/send.ts', true],
  [CLIENT_INPUTS, 'node_modules/valibot/dist/index.mjs', true],
  [CLIENT_INPUTS, 'src/gateway/customers/keys.ts', false],
  [CLIENT_INPUTS, 'src/tracker/lib/uuid.ts', false],
  [CLIENT_INPUTS, 'node_modules/undici/index.js', false],
  [GATEWAY_INPUTS, 'src/client/index.ts', true],
  [GATEWAY_INPUTS, 'src/gateway/sqlite/worker.ts', true],
  [GATEWAY_INPUTS, 'src/tracker/snippet.ts', true],
  [GATEWAY_INPUTS, 'node_modules/@hono/node-server/dist/index.mjs', true],
  [GATEWAY_INPUTS, 'node_modules/proxy-addr/node_modules/ipaddr.js/lib/ipaddr.js', true],
  [GATEWAY_INPUTS, 'node_modules/better-sqlite3/lib/index.js', false],
  [GATEWAY_INPUTS, 'node_modules/hono/node_modules/other/index.js', false],
  [GATEWAY_INPUTS, 'node_modules/ipaddr-js/index.js', false],
  [GATEWAY_INPUTS, 'src/tracker/outbox.ts', false],
  [GATEWAY_INPUTS, 'e2e/fixtures.ts', false],
]
test.each(imports)('a bundle that may contain %s with %s: %s', (allowed, path, isAllowed) => {
  const build = () => refuseForeign(['src/contract/index.ts', path], allowed, 'x')

  if (isAllowed) expect(build).not.toThrow()
  else expect(build).toThrow(path)
})

test('a file above its budget fails the build, and the message has the excess', () => {
  const sizes = [{ file: 'track.js', brotli: 5510 }]

  expect(findFaults(sizes, { 'track.js': 5500 })).toEqual([
    expect.stringContaining('5510 bytes (brotli), 10 above its budget of 5500'),
  ])
  expect(findFaults(sizes, { 'track.js': 5510 })).toEqual([])
})

test('a budget of a file that is not built fails the build', () => {
  expect(findFaults([], { 'track.js': 5500 })).toEqual([
    expect.stringContaining('track.js, which is not built'),
  ])
})

test("the changelog's first section is that of the package's version", () => {
  const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const { version } = JSON.parse(read('package.json'))
  const lock = JSON.parse(read('package-lock.json'))

  expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))[1]).toBe(version)
  expect([lock.version, lock.packages[''].version]).toEqual([version, version])
})

test('licenses.txt has each package once, with its licence', () => {
  const text = licensesOf([
    'src/contract/index.ts',
    'node_modules/valibot/dist/index.mjs',
    'node_modules/valibot/dist/other.mjs',
    'node_modules/@hono/node-server/dist/index.mjs',
    'node_modules/proxy-addr/node_modules/ipaddr.js/lib/ipaddr.js',
  ])

  expect(text.match(/^\S+ \d+\.\d+\.\d+ \(.+\)$/gm)).toEqual([
    expect.stringMatching(/^@hono\/node-server .* \(MIT\)$/),
    expect.stringMatching(/^ipaddr\.js 1\..* \(MIT\)$/),
    expect.stringMatching(/^valibot .* \(MIT\)$/),
  ])
  expect(text).toContain('Copyright (c) Fabian Hiller')
})

test('a bundled package without a licence stops the build', () => {
  const base = mkdtempSync(join(tmpdir(), 'shoptrail-'))
  mkdirSync(join(base, 'node_modules/own'), { recursive: true })
  writeFileSync(join(base, 'node_modules/own/package.json'), '{ "name": "own" }')

  expect(() => licensesOf(['node_modules/own/index.js'], base)).toThrow(
    'node_modules/own is in a bundle and has no file with its licence',
  )
  rmSync(base, { recursive: true })
})
