// @vitest-environment happy-dom
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import {
  define,
  defineGetter,
  dispatch,
  layer,
  leavePage,
  openConsent,
  page,
  settle,
  useConsentPages,
} from '../test/consentPage.ts'
import { CONSENT_TOOLS } from './consentTools.ts'
import type { KeySettings } from './settings.ts'

useConsentPages()

/** The visitor's answer at a tool. */
type Choice = 'none' | 'allowed' | 'refused'

/** Behaves as a tool documents it: `load` adds its interface, `choose` is the visitor's answer. */
type Tool = {
  load(choice: Choice): void
  choose(choice: Choice): void
  /** Changes its state without an event. */
  change(choice: Choice): void
}

/** An answer that the interface reads, and what the tool does when it has changed. */
function createTool(
  add: (read: () => Choice) => void,
  announce: (choice: Choice) => void,
  onLoad = announce,
): Tool {
  let now: Choice = 'none'
  return {
    load(choice) {
      now = choice
      add(() => now)
      onLoad(now)
    },
    choose(choice) {
      now = choice
      announce(now)
    },
    change(choice) {
      now = choice
    },
  }
}

const TOOLS: { readonly [name: string]: () => Tool } = {
  // `Cookiebot.consent.*` and `Cookiebot.hasResponse` are booleans; events on window.
  cookiebot: () =>
    createTool(
      (read) =>
        define('Cookiebot', {
          consent: {
            necessary: true,
            get statistics() {
              return read() === 'allowed'
            },
          },
          get hasResponse() {
            return read() !== 'none'
          },
        }),
      (choice) => {
        if (choice === 'none') return dispatch(window, 'CookiebotOnDialogDisplay')
        dispatch(window, 'CookiebotOnConsentReady')
        dispatch(window, choice === 'allowed' ? 'CookiebotOnAccept' : 'CookiebotOnDecline')
      },
    ),
  // `OnetrustActiveGroups` is the text ",C0001,…,"; IsAlertBoxClosed() is true after an answer.
  onetrust: () =>
    createTool(
      (read) => {
        defineGetter(
          'OnetrustActiveGroups',
          () => `,${read() === 'allowed' ? 'C0001,C0002' : 'C0001,C00021'},`,
        )
        define('OneTrust', { IsAlertBoxClosed: () => read() !== 'none' })
      },
      (choice) => {
        dispatch(window, 'OneTrustGroupsUpdated', [])
        if (choice !== 'none') dispatch(window, 'OTConsentApplied')
      },
    ),
  // getConsentDetails() returns a promise of {consent: {type}, categories: {slug: {state}}}; events on window.
  usercentrics: () =>
    createTool(
      (read) =>
        define('__ucCmp', {
          getConsentDetails: async () => ({
            consent: { type: read() === 'none' ? 'IMPLICIT' : 'EXPLICIT' },
            categories: {
              essential: { state: 'ALL_ACCEPTED' },
              functional: { state: read() === 'allowed' ? 'ALL_ACCEPTED' : 'SOME_ACCEPTED' },
            },
          }),
        }),
      () => dispatch(window, 'UC_CONSENT'),
      () => dispatch(window, 'UC_UI_INITIALIZED'),
    ),
  // Pushes {event: 'consent_status', type, ucCategory} when the page has loaded and after each change.
  usercentrics2: () =>
    createTool(
      () => {},
      (choice) =>
        layer().push({
          action: 'onUpdateServices',
          event: 'consent_status',
          type: choice === 'none' ? 'implicit' : 'explicit',
          ucCategory: { essential: true, functional: choice === 'allowed' ? true : null },
        }),
    ),
  // getCkyConsent() returns {categories, isUserActionCompleted}; events on document.
  cookieyes: () =>
    createTool(
      (read) =>
        define('getCkyConsent', () => ({
          categories: { necessary: true, analytics: read() === 'allowed' },
          isUserActionCompleted: read() !== 'none',
        })),
      () => dispatch(document, 'cookieyes_consent_update'),
      () => dispatch(document, 'cookieyes_banner_load'),
    ),
  // cmplz_has_consent(category), and cmplz_get_banner_status() 'dismissed' after the answer; events on document.
  complianz: () =>
    createTool(
      (read) => {
        define('cmplz_has_consent', (category: string) =>
          category === 'statistics' ? read() === 'allowed' : category === 'functional',
        )
        define('cmplz_get_banner_status', () => (read() === 'none' ? 'show' : 'dismissed'))
      },
      () => dispatch(document, 'cmplz_status_change', { category: 'statistics' }),
      () => dispatch(document, 'cmplz_cookie_warning_loaded', 'eu'),
    ),
  // Shopify.loadFeatures adds Shopify.customerPrivacy; currentVisitorConsent() has 'yes', 'no' or ''; event on document.
  shopify: () =>
    createTool(
      (read) =>
        define('Shopify', {
          loadFeatures(features: { name: string; version: string }[], done: () => void) {
            const [{ name, version }] = features as [{ name: string; version: string }]
            if (name !== 'consent-tracking-api' || version !== '0.1') return
            ;(page.Shopify as { [name: string]: unknown }).customerPrivacy = {
              analyticsProcessingAllowed: () => read() === 'allowed',
              currentVisitorConsent: () => ({
                analytics: { none: '', allowed: 'yes', refused: 'no' }[read()],
              }),
            }
            done()
          },
        }),
      () => dispatch(document, 'visitorConsentCollected', {}),
      () => {},
    ),
  // The cookie wp_consent_{category} is 'allow' or 'deny'; wp_consent_type names the law; event on document.
  wpConsent: () =>
    createTool(
      (read) => {
        const cookie = (name: string) =>
          name === 'wp_consent_statistics'
            ? { none: '', allowed: 'allow', refused: 'deny' }[read()]
            : ''
        define('wp_consent_type', 'optin')
        define('consent_api_get_cookie', cookie)
        define('wp_has_consent', (category: string) => cookie(`wp_consent_${category}`) === 'allow')
      },
      () => dispatch(document, 'wp_listen_for_consent_change', { statistics: '' }),
      () => dispatch(document, 'wp_consent_type_defined'),
    ),
}

test('every tool of the table is tested', () => {
  expect(Object.keys(TOOLS)).toEqual(CONSENT_TOOLS.map(({ name }) => name))
})

describe.each(
  Object.entries(TOOLS).flatMap(([name, create]) => [
    [name, name, create] as const,
    [name, 'auto', create] as const,
  ]),
)('the tool %s by %s', (name, source, create) => {
  const settings: KeySettings = { consent: 'required', consentSources: [source] }
  const AFTER = { none: undefined, allowed: 'granted', refused: 'denied' } as const

  test.each<readonly Choice[]>([
    ['none'],
    ['none', 'allowed'],
    ['none', 'refused'],
    ['none', 'allowed', 'refused'],
    ['none', 'refused', 'allowed'],
    ['allowed', 'refused'],
    ['refused', 'allowed'],
    ['allowed', 'none'],
  ])('loaded with %s, then %s, %s', async (loaded, ...later) => {
    for (const isEarly of [true, false]) {
      const tool = create()
      if (isEarly) tool.load(loaded)
      const { answers } = openConsent(settings)
      if (!isEarly) {
        expect(answers[name]).toBeUndefined()
        tool.load(loaded)
        // Some have no event. Then they are found by reading again.
        await vi.advanceTimersByTimeAsync(100)
      }
      await settle()
      expect(answers[name]).toBe(AFTER[loaded])
      for (const choice of later.filter(Boolean)) {
        tool.choose(choice)
        await settle()
        expect(answers[name]).toBe(AFTER[choice])
      }
      leavePage()
    }
  })

  test('loaded after ten seconds', async () => {
    const { answers } = openConsent(settings)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(answers[name]).toBeUndefined()
    const tool = create()
    tool.load('none')
    await vi.advanceTimersByTimeAsync(10_000)
    tool.choose('allowed')
    await settle()
    expect(answers[name]).toBe('granted')
  })

  test('a change without an event is read after the next click, and if all are read again', async () => {
    const { answers, read } = openConsent(settings)
    const tool = create()
    tool.load('none')
    await vi.advanceTimersByTimeAsync(1000)
    // The script has no other way to this tool's state than what it pushes.
    if (name === 'usercentrics2') return expect(() => read()).not.toThrow()
    tool.change('allowed')
    await settle()
    expect(answers[name]).toBeUndefined()
    document.body.click()
    await settle()
    expect(answers[name]).toBe('granted')
    tool.change('refused')
    read()
    await settle()
    expect(answers[name]).toBe('denied')
  })
})

test('a tool whose promise fails has no answer, and the page gets no rejection', async () => {
  let fails = false
  define('__ucCmp', {
    getConsentDetails: async () => {
      if (fails) throw new Error('no')
      return { consent: {}, categories: { functional: { state: 'ALL_ACCEPTED' } } }
    },
  })
  const { answers, read } = openConsent({ consentSources: ['usercentrics'] })
  await settle()
  expect(answers.usercentrics).toBe('granted')
  fails = true
  read()
  await settle()
  expect(answers.usercentrics).toBeUndefined()
})

test('the interface is loaded once, and an error of that is no answer', async () => {
  const loadFeatures = vi.fn((_: unknown, done: (error: unknown) => void) => done(new Error('no')))
  define('Shopify', { loadFeatures })
  const { answers } = openConsent({ consentSources: ['shopify'] })
  await vi.advanceTimersByTimeAsync(10_000)
  document.body.click()
  await settle()
  expect(loadFeatures).toHaveBeenCalledOnce()
  expect(answers.shopify).toBeUndefined()
})

test.each([
  ['no banner is installed', undefined, '', undefined],
  ['no banner is installed', '', '', undefined],
  ['the law lets visitors opt out', 'optout', '', 'granted'],
  ['the law lets visitors opt out, and one did', 'optout', 'deny', 'denied'],
  ['no type, but an answer', undefined, 'allow', 'granted'],
])('WP Consent API: %s', (_, type, cookie, expected) => {
  define('wp_consent_type', type)
  define('consent_api_get_cookie', () => cookie)
  define('wp_has_consent', () => !type || cookie === 'allow' || (type === 'optout' && !cookie))
  expect(openConsent({ consentSources: ['wpConsent'] }).answers.wpConsent).toBe(expected)
})

test('another category', () => {
  define('Cookiebot', { consent: { statistics: false, marketing: true }, hasResponse: true })
  const consentSources = ['cookiebot']
  expect(openConsent({ consentSources }).answers.cookiebot).toBe('denied')
  const { answers } = openConsent({ consentSources, consentCategory: 'marketing' })
  expect(answers.cookiebot).toBe('granted')
})

test('no source but the table names a tool', () => {
  const root = `${import.meta.dirname}/../..`
  const names = /cookiebot|onetrust|usercentrics|cookieyes|complianz|customerPrivacy|wp.?consent/i
  const naming = ['src', 'public', 'e2e']
    .flatMap((folder) =>
      readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' }).map(
        (path) => `${folder}/${path}`,
      ),
    )
    .filter((path) => /\.(m?[jt]sx?|html)$/.test(path) && !/\.(test|spec)\./.test(path))
    .filter((path) => names.test(readFileSync(`${root}/${path}`, 'utf8')))
  expect(naming).toEqual(['src/contract/consentTools.ts'])
})
