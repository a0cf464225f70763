import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { KEEPING_STUB, STUB } from '../../tracker/snippet.ts'
import { makeSetupTexts } from './setupTexts.ts'

const GATEWAY = 'https://t.shop.example/in'

const textsOf = (
  config: KeySettings = {},
  origins: readonly string[] = ['https://shop.example'],
  found: readonly { source: string; title: string }[] = [],
) =>
  makeSetupTexts(
    { customerId: 'C1', trackingKey: 'a&"<b/', config, origins },
    GATEWAY,
    'https://shop.example/p?x=1',
    { consent: found },
  )

test('the tag has the address of the script, safe in HTML', () => {
  expect(textsOf().tag).toBe(`<script async src="${GATEWAY}/t/j/a%26%22%3Cb%2F"></script>`)
})

test('the stubs are those of the documentation, with the name of the helpers', () => {
  expect(textsOf().stub).toBe(`<script>${STUB}</script>`)
  expect(textsOf().keepingStub).toBe(`<script>${KEEPING_STUB}</script>`)
  expect(textsOf().global).toBe('track')
  const { stub, keepingStub, global } = textsOf({ global: 'st$1' })
  expect(global).toBe('st$1')
  expect(stub).toBe(`<script>${STUB.replace('"track")', () => '"st$1")')}</script>`)
  // The names in storage stay.
  expect(keepingStub).toContain('"track.e."')
  expect(keepingStub).toMatch(/\(window,\[\],"st\$1"\)<\/script>$/)
})

test('the lines of a policy allow the script, the requests, and the very stubs', () => {
  const { csp, stub, keepingStub } = textsOf({ global: 'shoptrail' })
  expect(csp.slice(0, 2)).toMatchObject([
    { directive: 'script-src', sources: `${GATEWAY}/t/` },
    { directive: 'connect-src', sources: `${GATEWAY}/t/` },
  ])
  const hashOf = (html: string) =>
    `'sha256-${createHash('sha256')
      .update(html.replace(/<\/?script>/g, ''))
      .digest('base64')}'`
  expect(csp.slice(2)).toMatchObject([
    { directive: 'script-src', sources: hashOf(stub) },
    { directive: 'script-src', sources: hashOf(keepingStub) },
  ])
})

const COOKIEBOT = { source: 'cookiebot', title: 'Cookiebot' }
const WP = { source: 'wpConsent', title: 'WP Consent API' }

test.each<[string, KeySettings, { source: string; title: string }[], object]>([
  ['nothing found', {}, [], { rule: 'granted', suggested: 'auto', title: null, command: 'auto' }],
  [
    'a tool',
    {},
    [COOKIEBOT, WP],
    { suggested: 'cookiebot', title: 'Cookiebot', command: 'cookiebot' },
  ],
  [
    'a tool that is set',
    { consentSources: ['cookiebot'] },
    [COOKIEBOT],
    { rule: 'required', command: null },
  ],
  ['auto, which reads the tool', { consentSources: ['auto'] }, [COOKIEBOT], { command: null }],
  [
    'auto, which does not read Consent Mode',
    { consentSources: ['auto'] },
    [{ source: 'consentMode', title: 'Google Consent Mode' }],
    { command: 'consentMode' },
  ],
  ['auto, and no tool', { consentSources: ['auto'] }, [], { suggested: 'auto', command: null }],
  ['another source, and no tool', { consentSources: ['wpConsent'] }, [], { command: null }],
  ['another tool', { consentSources: ['wpConsent'] }, [COOKIEBOT], { command: 'cookiebot' }],
])('consent: %s', (_, config, found, expected) => {
  const { consent } = textsOf(config, [], found)
  const command = (expected as { command: string | null }).command
  expect(consent).toMatchObject({
    ...expected,
    sources: config.consentSources ?? [],
    command:
      command &&
      `npx shoptrail customer set C1 --config '{"consent":"required","consentSources":["${command}"]}'`,
  })
})

test('a key that counts visits without storing goes on to do so', () => {
  const { consent } = textsOf({ consent: 'cookieless' }, [], [COOKIEBOT])
  expect(consent.rule).toBe('cookieless')
  expect(consent.command).toContain('{"consent":"cookieless","consentSources":["cookiebot"]}')
})

test('an origin that is not allowed is added to the others', () => {
  expect(textsOf().origin).toEqual({
    origin: 'https://shop.example',
    isAllowed: true,
    command: null,
  })
  expect(textsOf({}, ['https://*.shop.example', 'loopback']).origin).toEqual({
    origin: 'https://shop.example',
    isAllowed: false,
    command:
      "npx shoptrail customer set C1 --origin 'https://*.shop.example' --origin loopback --origin https://shop.example",
  })
})

test('a command is one line of words for a shell, whatever the host is', () => {
  const { command } = makeSetupTexts(
    { customerId: 'C1', trackingKey: 'KEY123', config: {}, origins: [] },
    GATEWAY,
    "https://a';echo'b.example/",
  ).origin
  const { stdout } = spawnSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
  expect(stdout.split('\n').slice(-3, -1)).toEqual(['--origin', "https://a';echo'b.example"])
})
