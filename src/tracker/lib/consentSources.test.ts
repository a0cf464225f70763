// @vitest-environment happy-dom
import { describe, expect, test, vi } from 'vitest'
import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import type { KeySettings } from '../../contract/settings.ts'
import {
  define,
  defineGetter,
  gtag,
  layer,
  nameOfLayer,
  openConsent,
  page,
  settle,
  useConsentPages,
} from '../../test/consentPage.ts'
import type { Answered } from './consentSources.ts'

useConsentPages()

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
      'rubbish after a grant',
      [
        ['update', granted],
        ['update', { analytics_storage: true }],
      ],
      undefined,
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
        page[nameOfLayer()] = []
        const { answers } = openConsent({ ...settings, ...more })
        page[nameOfLayer()] = kept
        expect(answers.consentMode).toBe(expected)
        return
      }
      const { answers } = openConsent({ ...settings, ...more })
      gtag('set', { analytics_storage: 'granted' })
      if (when === 'after it') commands.forEach(push)
      gtag('config', 'G-1', granted)
      layer().push({ event: 'consent', ...granted }, null, 'consent')
      expect(answers.consentMode).toBe(expected)
    },
  )

  test('wait_for_update: a default grants after that time, an update at once', () => {
    const { answers } = openConsent(settings)
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
    const { answers } = openConsent(settings)
    gtag('consent', 'default', { ...granted, wait_for_update: 500 })
    gtag('consent', 'default', { ad_storage: 'denied', wait_for_update: 2000 })
    gtag('consent', 'update', values)
    expect(answers.consentMode).toBe(expected)
    vi.advanceTimersByTime(5000)
    expect(answers.consentMode).toBe(expected)
  })

  test('an answer after ten seconds', () => {
    const { answers } = openConsent(settings)
    gtag('consent', 'default', { ...denied, wait_for_update: 500 })
    vi.advanceTimersByTime(10_000)
    expect(answers.consentMode).toBeUndefined()
    gtag('consent', 'update', granted)
    expect(answers.consentMode).toBe('granted')
  })

  test('types and the region on the tag', () => {
    const { answers } = openConsent({
      ...settings,
      onTag: { consentTypes: 'analytics_storage, ad_storage', consentRegion: 'DE' },
    })
    gtag('consent', 'default', { ...granted, ad_storage: 'granted', region: ['DE'] })
    gtag('consent', 'default', { ad_storage: 'denied' })
    expect(answers.consentMode).toBe('granted')
  })

  test.each<KeySettings>([
    { consent: 'required' },
    { consentSources: ['tcf', 'auto'], consentTypes: ['ad_storage'] },
  ])('is not followed: %j', (other) => {
    const { answers } = openConsent(other)
    gtag('consent', 'update', { ...granted, ad_storage: 'granted' })
    expect(answers.consentMode).toBeUndefined()
  })

  test('the array is not made for other sources', () => {
    openConsent({ consentSources: ['tcf'] })
    expect(page[nameOfLayer()]).toBeUndefined()
  })
})

describe('the Transparency and Consent Framework', () => {
  const settings: KeySettings = { consentSources: ['tcf'] }
  type Listener = (data: unknown, ok: boolean) => void

  /** A stub that queues calls until `load`, as IAB's own, and then the real interface. */
  function createCmp() {
    const queue: unknown[][] = []
    const listeners: Listener[] = []
    let data: object | undefined
    const add = (command: unknown, version: unknown, listener: Listener) => {
      if (command !== 'addEventListener' || version !== 2) return
      listeners.push(listener)
      // It is called at once, also if nothing is known yet.
      listener(data ?? { cmpStatus: 'loading', listenerId: listeners.length }, true)
    }
    define('__tcfapi', (...call: unknown[]) => void queue.push(call))
    return {
      load() {
        define('__tcfapi', add)
        for (const call of queue) add(...(call as Parameters<typeof add>))
      },
      say(next: object, ok = true) {
        data = next
        for (const listener of listeners) listener({ ...next, listenerId: 1 }, ok)
      },
      listeners,
    }
  }
  const data = (
    eventStatus: string,
    purposes: readonly number[],
    vendors: readonly number[] = [],
  ) => {
    const consents = (ids: readonly number[]) =>
      Object.fromEntries(Array.from({ length: 11 }, (_, id) => [id, ids.includes(id)]))
    return {
      gdprApplies: true,
      eventStatus,
      purpose: { consents: consents(purposes), legitimateInterests: consents([1, 7, 8]) },
      vendor: { consents: consents(vendors), legitimateInterests: consents([5]) },
    }
  }

  const cases: readonly (readonly [string, object, Answered, KeySettings?])[] = [
    ['the law does not apply', { gdprApplies: false, tcfPolicyVersion: 5 }, 'granted'],
    ['a stored answer, all purposes', data('tcloaded', [1, 7, 8]), 'granted'],
    ['a stored answer, not all purposes', data('tcloaded', [1, 7]), 'denied'],
    ['the banner is shown', data('cmpuishown', []), undefined],
    ['the banner is shown again', data('cmpuishown', [1, 7, 8]), 'granted'],
    ['the visitor allowed all', data('useractioncomplete', [1, 2, 3, 7, 8]), 'granted'],
    ['the visitor allowed nothing', data('useractioncomplete', []), 'denied'],
    ['other purposes', data('useractioncomplete', [2]), 'granted', { tcfPurposes: [2] }],
    ['the vendor too', data('tcloaded', [1, 7, 8], [5]), 'granted', { tcfVendor: 5 }],
    ['not the vendor', data('tcloaded', [1, 7, 8], [4]), 'denied', { tcfVendor: 5 }],
    ['nothing is known', { gdprApplies: undefined, cmpStatus: 'loading' }, undefined],
    ['no purposes at all', { gdprApplies: true, eventStatus: 'tcloaded' }, 'denied'],
    [
      'texts for booleans',
      { eventStatus: 'cmpuishown', purpose: { consents: { 1: 'true', 7: 'true', 8: 'true' } } },
      undefined,
    ],
  ]
  test.each(
    cases.map(([what, data, expected, more = {}]) => [what, data, expected, more] as const),
  )('%s', (_what, data, expected, more) => {
    const cmp = createCmp()
    const { answers } = openConsent({ ...settings, ...more })
    expect(answers.tcf).toBeUndefined()
    // The stub answers only when the real interface has loaded.
    vi.advanceTimersByTime(10_000)
    cmp.load()
    expect(answers.tcf).toBeUndefined()
    cmp.say(data)
    expect(answers.tcf).toBe(expected)
  })

  test('asked, granted, and revoked later', () => {
    const cmp = createCmp()
    cmp.load()
    const { answers } = openConsent(settings)
    cmp.say(data('cmpuishown', []))
    expect(answers.tcf).toBeUndefined()
    cmp.say(data('useractioncomplete', [1, 7, 8]))
    expect(answers.tcf).toBe('granted')
    cmp.say(data('cmpuishown', [1, 7, 8]))
    expect(answers.tcf).toBe('granted')
    cmp.say(data('useractioncomplete', []))
    expect(answers.tcf).toBe('denied')
  })

  test('a stored answer is there at once', () => {
    const cmp = createCmp()
    cmp.load()
    cmp.say(data('tcloaded', []))
    expect(openConsent(settings).answers.tcf).toBe('denied')
  })

  test('what a callback says with an error does not count', () => {
    const cmp = createCmp()
    cmp.load()
    const { answers } = openConsent(settings)
    cmp.say(data('tcloaded', [1, 7, 8]), false)
    expect(answers.tcf).toBeUndefined()
    cmp.say(data('tcloaded', []))
    cmp.say(data('tcloaded', [1, 7, 8]), false)
    expect(answers.tcf).toBe('denied')
  })

  test.each([
    ['after a while', () => vi.advanceTimersByTime(8000)],
    [
      'at a click',
      () => {
        document.body.click()
        vi.advanceTimersByTime(0)
      },
    ],
  ])('an interface that appears after the script is found %s, and gets one listener', (_, pass) => {
    const { answers, read } = openConsent(settings)
    vi.advanceTimersByTime(4000)
    const cmp = createCmp()
    cmp.load()
    pass()
    expect(cmp.listeners).toHaveLength(1)
    cmp.say(data('tcloaded', [1, 7, 8]))
    expect(answers.tcf).toBe('granted')
    read()
    vi.advanceTimersByTime(1e9)
    expect(cmp.listeners).toHaveLength(1)
  })
})

describe('rubbish of the page', () => {
  const settings: KeySettings = { consentSources: ['auto', 'tcf', 'consentMode'] }
  /** The globals that the rows read. */
  const GLOBALS = [
    '__tcfapi',
    ...CONSENT_TOOLS.flatMap(({ state, load, rules }) =>
      [state, load, ...(state?.length ? [] : rules.flatMap((rule) => rule.slice(1)))].flatMap(
        (path) => (path?.length ? [`${[path[0]].flat(2)[0]}`] : []),
      ),
    ),
  ].filter((name, index, all) => all.indexOf(name) === index)

  /** An object whose every property is itself, a function, or throws. */
  const anything: unknown = new Proxy(() => {}, {
    get: (_target, name) => (name === Symbol.toPrimitive ? () => 'x' : anything),
    apply: () => anything,
  })
  const broken = new Proxy(() => {}, {
    get() {
      throw new Error('get')
    },
    apply() {
      throw new Error('call')
    },
  })
  const values: readonly (readonly [string, () => unknown])[] = [
    ['an element', () => document.createElement('form')],
    ['null', () => null],
    ['true', () => true],
    ['text', () => 'allow'],
    ['a number', () => 1],
    ['an empty object', () => ({})],
    ['a function', () => () => {}],
    ['an object that answers everything with itself', () => anything],
    ['an object that throws', () => broken],
  ]
  test('the globals of the table', () => expect(GLOBALS.length).toBeGreaterThan(8))

  test.each(values)('%s in place of every interface: no error, no grant', async (_what, make) => {
    for (const name of GLOBALS) define(name, make())
    const { answers, read } = openConsent(settings)
    layer().push(
      make(),
      { event: make() },
      ['consent', make(), make()],
      ['consent', 'update', make()],
    )
    document.body.click()
    await vi.advanceTimersByTimeAsync(60_000)
    read()
    await settle()
    expect(Object.values(answers)).not.toContain('granted')
  })

  test('getters that throw: no error, no grant', async () => {
    for (const name of GLOBALS)
      defineGetter(name, () => {
        throw new Error(name)
      })
    const { answers } = openConsent(settings)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(Object.values(answers)).not.toContain('granted')
  })

  test('the timers end', () => {
    openConsent(settings)
    vi.advanceTimersByTime(2_000_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
