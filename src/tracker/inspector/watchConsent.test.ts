// @vitest-environment happy-dom

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Config } from '../config.ts'
import type { TrackApi } from '../global.d.ts'
import type { ConsentFacts, Served } from './describeConsent.ts'
import { MISSING_SECONDS, watchConsent } from './watchConsent.ts'

const page = window as unknown as { acme?: object | undefined; dataLayer?: unknown[] | undefined }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  page.acme = undefined
  page.dataLayer = undefined
})

const acme = {
  name: 'acme',
  events: 'acme',
  state: ['acme'],
  rules: [
    ['granted', ['yes']],
    ['denied', ['no']],
  ],
} as const

/** Watches a page whose key has these settings. `set` is a change of the consent, as the script reports it. */
async function watch(settings: Served, choice: string | null = null) {
  let report: (() => void) | undefined
  const helpers: { -readonly [K in 'consentState' | 'on']: TrackApi[K] } = {
    consentState: undefined,
    on: (_kind: string, listener: unknown) => {
      report = listener as () => void
      return () => {}
    },
  }
  const printed: string[] = []
  const shown: ConsentFacts[] = []
  watchConsent(
    window,
    helpers,
    { ...settings, key: 'ABC123', base: 'https://gateway.example' } as Config,
    (text) => printed.push(text),
    () => choice,
    (facts) => shown.push(facts),
  )
  await vi.advanceTimersByTimeAsync(200)
  return {
    printed,
    shown,
    first: () => printed.map((text) => text.split('\n')[0]),
    async set(state: TrackApi['consentState']) {
      helpers.consentState = state
      report?.()
      await vi.advanceTimersByTimeAsync(200)
    },
  }
}

test('the state is printed with its source, then each change', async () => {
  page.acme = {}
  const { printed, shown, set } = await watch({ consent: 'required', consentTools: [acme] })
  expect(printed).toEqual([expect.stringMatching(/nobody has answered[\s\S]+waits for: acme/)])
  page.acme = { yes: true }
  await set('granted')
  expect(printed[1]).toMatch(/consent is granted\n {2}by: acme/)
  page.acme = { no: true }
  await set('denied')
  expect(printed[2]).toMatch(/consent is denied\n {2}by: acme/)
  expect(shown.map(({ title, rows }) => [title, rows[0]])).toEqual([
    ['nobody has answered the question for consent', ['waits for', 'acme']],
    ['consent is granted', ['by', 'acme']],
    ['consent is denied', ['by', 'acme']],
  ])
})

test('the remembered answer is a source', async () => {
  const { printed, set } = await watch({ consent: 'required', consentTools: [] }, 'granted')
  await set('granted')
  expect(printed.at(-1)).toContain('track.c')
})

test('commands in the dataLayer are read, also if the array was shortened meanwhile', async () => {
  const gtag = new Function('return arguments') as (...all: unknown[]) => unknown
  const denied = gtag('consent', 'default', { analytics_storage: 'denied' })
  page.dataLayer = [null, 'text', denied]
  const config: Served = {
    consent: 'required',
    consentSources: ['consentMode'],
    consentTypes: ['analytics_storage'],
    consentTools: [],
  }
  const { printed, set } = await watch(config)
  expect(printed[0]).toContain('waits for: consentMode')
  page.dataLayer = [gtag('consent', 'update', { analytics_storage: 'granted' })]
  await set('granted')
  expect(printed[1]).toMatch(/consent is granted\n {2}by: consentMode/)
})

test('the setting of the tag counts', async () => {
  const { printed } = await watch({ consentTools: [], consent: 'cookieless' })
  expect(printed[0]).toContain('sent without a device id')
})

test('a tag asks for consent on a script that has the part for another setting', async () => {
  const { first } = await watch({ exclude: ['/account'], consent: 'required' })
  expect(first()).toEqual(['track: nobody has answered the question for consent'])
})

test('a tool that is not on the page is reported after some seconds', async () => {
  const config: Served = { consentSources: ['acme'], consentTools: [acme] }
  const { first } = await watch(config)
  expect(first()).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(MISSING_SECONDS * 1_000)
  expect(first()[1]).toBe(
    'track: the consent source acme was not found on this page after 10 seconds',
  )
})

test('a tool whose state is spread over window is reported too, and the browser is no source that one waits for', async () => {
  const rules = [['granted', ['acme', 'yes']]] as const
  const signal = { name: 'signal', events: '', state: [], rules: [['denied', ['none']]] } as const
  const config: Served = {
    consent: 'required',
    consentSources: ['acme'],
    consentTools: [signal, { name: 'acme', events: '', state: [], rules }],
  }
  const { printed } = await watch(config)
  expect(printed).toEqual([expect.not.stringContaining('waits for')])
  await vi.advanceTimersByTimeAsync(MISSING_SECONDS * 1_000)
  expect(printed[1]).toContain('acme was not found')
})

test('a tool that loads late is not reported', async () => {
  const { first } = await watch({ consentSources: ['acme'], consentTools: [acme] })
  page.acme = {}
  window.dispatchEvent(new Event('acme'))
  await vi.advanceTimersByTimeAsync(MISSING_SECONDS * 1_000)
  expect(first()).toHaveLength(1)
})

test('a tag that asks for consent on a script without the part is reported, and no state', async () => {
  const { first } = await watch({ consent: 'required' })
  await vi.advanceTimersByTimeAsync(MISSING_SECONDS * 1_000)
  expect(first()).toEqual([expect.stringMatching(/^track: nothing is recorded: the tag asks/)])
})

test.each<[string, Served]>([
  ['a key that does not ask for consent', {}],
  ['a key that does not ask, by its settings', { consent: 'granted' }],
])('nothing is printed for %s', async (_, config) => {
  const { printed } = await watch(config)
  await vi.advanceTimersByTimeAsync(MISSING_SECONDS * 1_000)
  expect(printed).toEqual([])
})
