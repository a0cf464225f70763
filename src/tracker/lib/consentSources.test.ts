// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import type { KeySettings } from '../../contract/settings.ts'
import { consentConfig } from '../../gateway/script/consentConfig.ts'
import { watchTrack } from '../../test/watchTrack.ts'
import { type Answered, watchConsent } from './consentSources.ts'

const page = window as unknown as { [name: string]: unknown }

let pages = 0
let layerName = ''
const added: string[] = []
beforeEach(() => {
  vi.useFakeTimers()
  layerName = `layer${++pages}`
})
afterEach(() => {
  vi.useRealTimers()
  for (const name of added.splice(0)) delete page[name]
  document.body.innerHTML = ''
})

/** Adds a global of the page until the end of the test. */
const define = (name: string, value: unknown) => defineGetter(name, () => value)
function defineGetter(name: string, get: () => unknown) {
  added.push(name)
  Object.defineProperty(page, name, { get, configurable: true })
}

/** A page with the sources of a key, as the gateway configures them. */
function open(settings: KeySettings & { readonly onTag?: object }) {
  const { onTag, ...config } = settings
  const answers: { [source: string]: Answered } = {}
  const chosen: string[] = []
  const watched = watchTrack({ dataLayerName: layerName, dataLayer: false })
  const readers = watched.state[3]
  const read = watchConsent(
    { ...config, ...consentConfig(config), ...onTag },
    readers,
    (source, state) => {
      answers[source] = state
    },
    (state) => chosen.push(state),
  )
  watched.startDataLayer()
  return { answers, chosen, read, readers }
}

const layer = () => {
  page[layerName] ??= []
  return page[layerName] as unknown[]
}
/** As shops define it: it pushes its `arguments`, which are no array. */
const gtag = new Function('layer', 'return function () { layer().push(arguments) }')(layer) as (
  ...command: unknown[]
) => void

const granted = { analytics_storage: 'granted' }
const denied = { analytics_storage: 'denied' }

describe('Google Consent Mode', () => {
  type Command = readonly [action: string, values: unknown]
  const settings: KeySettings = { consentSources: ['consentMode'] }

  const cases: readonly (readonly [
    what: string,
    commands: readonly Command[],
    expected: Answered,
    settings?: KeySettings,
  ])[] = [
    ['no command', [], undefined],
    ['default denied: nobody has chosen', [['default', denied]], undefined],
    ['default granted', [['default', granted]], 'granted'],
    ['update granted', [['update', granted]], 'granted'],
    ['update denied', [['update', denied]], 'denied'],
    [
      'default denied, update granted',
      [
        ['default', denied],
        ['update', granted],
      ],
      'granted',
    ],
    [
      'update granted, then default denied',
      [
        ['update', granted],
        ['default', denied],
      ],
      'granted',
    ],
    [
      'granted, then revoked',
      [
        ['update', granted],
        ['update', denied],
      ],
      'denied',
    ],
    [
      'denied, then granted',
      [
        ['update', denied],
        ['update', granted],
      ],
      'granted',
    ],
    [
      'an update of other types',
      [
        ['update', granted],
        ['update', { ad_storage: 'denied' }],
      ],
      'granted',
    ],
    ['only other types', [['update', { ad_storage: 'granted' }]], undefined],
    ['another command', [['declare', granted]], undefined],
    ['rubbish as a state', [['update', { analytics_storage: 'GRANTED' }]], undefined],
    [
      'rubbish after a grant changes nothing',
      [
        ['update', granted],
        ['update', { analytics_storage: true }],
      ],
      'granted',
    ],
    [
      'rubbish as values',
      [
        ['update', null],
        ['update', 'granted'],
        ['default', undefined],
      ],
      undefined,
    ],
    [
      'of several types, all have to be granted',
      [['update', granted]],
      undefined,
      { consentTypes: ['analytics_storage', 'ad_user_data'] },
    ],
    [
      'all types in two updates',
      [
        ['update', granted],
        ['update', { ad_user_data: 'granted' }],
      ],
      'granted',
      { consentTypes: ['analytics_storage', 'ad_user_data'] },
    ],
    [
      'one of several types denied',
      [['update', { ...granted, ad_user_data: 'denied' }]],
      'denied',
      { consentTypes: ['analytics_storage', 'ad_user_data'] },
    ],
    [
      'one granted by default, the other by the visitor',
      [
        ['default', granted],
        ['update', { ad_user_data: 'granted' }],
      ],
      'granted',
      { consentTypes: ['analytics_storage', 'ad_user_data'] },
    ],
  ]
  /** Defaults with regions: for no region, for Germany, for California, for the rest of the United States, for France. */
  const regional: readonly (readonly [
    what: string,
    commands: readonly Command[],
    expected: readonly Answered[],
  ])[] = [
    [
      'denied in Europe, granted elsewhere',
      [
        ['default', { ...denied, region: ['DE', 'FR'] }],
        ['default', granted],
      ],
      [undefined, undefined, 'granted', 'granted', undefined],
    ],
    [
      'in the other order',
      [
        ['default', granted],
        ['default', { ...denied, region: ['DE', 'FR'] }],
      ],
      [undefined, undefined, 'granted', 'granted', undefined],
    ],
    [
      'the most specific region counts',
      [
        ['default', { ...denied, region: ['US-CA'] }],
        ['default', { ...granted, region: ['US'] }],
        ['default', denied],
      ],
      [undefined, undefined, undefined, 'granted', undefined],
    ],
    [
      'of two defaults for the same region the last one counts',
      [
        ['default', { ...denied, region: ['DE'] }],
        ['default', { ...granted, region: ['FR', 'DE'] }],
      ],
      [undefined, 'granted', undefined, undefined, 'granted'],
    ],
    [
      'an update counts in every region',
      [
        ['default', { ...denied, region: ['DE'] }],
        ['update', granted],
      ],
      ['granted', 'granted', 'granted', 'granted', 'granted'],
    ],
    [
      'granted in one region only',
      [['default', { ...granted, region: ['US'] }]],
      [undefined, undefined, 'granted', 'granted', undefined],
    ],
    [
      'rubbish as a region',
      [['default', { ...granted, region: 'DE' }]],
      [undefined, undefined, undefined, undefined, undefined],
    ],
  ]

  const WHEN = ['before the script', 'after it', 'as arrays', 'the array is replaced'] as const
  const all = [
    ...cases.map(
      ([what, commands, expected, more]) => [what, commands, expected, more ?? {}] as const,
    ),
    ...regional.flatMap(([what, commands, expected]) =>
      [undefined, 'DE', 'US-CA', 'US-NY', 'FR'].map(
        (region, index) =>
          [
            `${what}: ${region}`,
            commands,
            expected[index],
            region ? { consentRegion: region } : {},
          ] as const,
      ),
    ),
  ]
  test.each(all.flatMap(([what, ...rest]) => WHEN.map((when) => [what, when, ...rest] as const)))(
    '%s, %s',
    (_what, when, commands, expected, more) => {
      const push = (command: Command) =>
        when === 'as arrays' ? layer().push(['consent', ...command]) : gtag('consent', ...command)
      gtag('js', new Date())
      if (when !== 'after it') commands.forEach(push)
      if (when === 'the array is replaced') {
        const kept = layer()
        page[layerName] = []
        const { answers } = open({ ...settings, ...more })
        page[layerName] = kept
        expect(answers.consentMode).toBe(expected)
        return
      }
      const { answers } = open({ ...settings, ...more })
      gtag('set', { analytics_storage: 'granted' })
      if (when === 'after it') commands.forEach(push)
      gtag('config', 'G-1', granted)
      layer().push({ event: 'consent', ...granted }, null, 'consent')
      expect(answers.consentMode).toBe(expected)
    },
  )

  test('wait_for_update: a default grants after that time, an update at once', () => {
    const { answers } = open(settings)
    gtag('consent', 'default', { ...granted, wait_for_update: 500 })
    expect(answers.consentMode).toBeUndefined()
    vi.advanceTimersByTime(499)
    expect(answers.consentMode).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(answers.consentMode).toBe('granted')
    gtag('consent', 'default', { ...granted, wait_for_update: 500 })
    gtag('consent', 'update', granted)
    expect(answers.consentMode).toBe('granted')
  })

  test.each([
    [granted, 'granted'],
    [denied, 'denied'],
  ])('wait_for_update: an update in time, %j', (values, expected) => {
    const { answers } = open(settings)
    gtag('consent', 'default', { ...granted, wait_for_update: 500 })
    gtag('consent', 'default', { ad_storage: 'denied', wait_for_update: 2000 })
    gtag('consent', 'update', values)
    expect(answers.consentMode).toBe(expected)
    vi.advanceTimersByTime(5000)
    expect(answers.consentMode).toBe(expected)
  })

  test('an answer after ten seconds', () => {
    const { answers } = open(settings)
    gtag('consent', 'default', { ...denied, wait_for_update: 500 })
    vi.advanceTimersByTime(10_000)
    expect(answers.consentMode).toBeUndefined()
    gtag('consent', 'update', granted)
    expect(answers.consentMode).toBe('granted')
  })

  test('types and the region on the tag', () => {
    const { answers } = open({
      ...settings,
      onTag: { consentTypes: 'analytics_storage,ad_storage', consentRegion: 'DE' },
    })
    gtag('consent', 'default', { ...granted, ad_storage: 'granted', region: ['DE'] })
    gtag('consent', 'default', { ad_storage: 'denied' })
    expect(answers.consentMode).toBe('granted')
  })

  test.each<KeySettings>([
    { consent: 'required' },
    { consentSources: ['tcf', 'auto'], consentTypes: ['ad_storage'] },
  ])('is not followed: %j', (other) => {
    const { answers } = open(other)
    gtag('consent', 'update', { ...granted, ad_storage: 'granted' })
    expect(answers.consentMode).toBeUndefined()
  })

  test('the array is not made for other sources', () => {
    open({ consentSources: ['cookiebot', 'tcf'] })
    expect(page[layerName]).toBeUndefined()
  })
})

/** The visitor's answer at a tool. */
type Choice = 'none' | 'allowed' | 'refused'

/** Behaves as a tool documents it: `load` adds its interface, `choose` is the visitor's answer. */
type Tool = {
  load(choice: Choice): void
  choose(choice: Choice): void
  /** Changes its state without an event. */
  change(choice: Choice): void
}

const dispatch = (target: EventTarget, type: string, detail?: unknown): void => {
  target.dispatchEvent(new CustomEvent(type, { detail }))
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
  // `OnetrustActiveGroups` is the text ",C0001,…,"; IsAlertBoxClosed() tells whether the banner was answered.
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

/** Lets promises of the page resolve. */
const settle = () => vi.advanceTimersByTimeAsync(0)

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
      const { answers } = open(settings)
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
      for (const global of added.splice(0)) delete page[global]
      layerName = `${layerName}_`
    }
  })

  test('loaded after ten seconds', async () => {
    const { answers } = open(settings)
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
    const { answers, read } = open(settings)
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
