import { describe, expect, test } from 'vitest'
import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import {
  consentFacts,
  describeConsent,
  findConsentFaults,
  findMissingSources,
  isOnPage,
  type Known,
  type Served,
} from './describeConsent.ts'

const known = (given: Partial<Known>): Known => ({
  state: undefined,
  choice: undefined,
  answers: new Map(),
  mode: 'required',
  ...given,
})

test.each<[string, Partial<Known>, string[]]>([
  [
    'nobody has answered',
    { answers: new Map([['acme', undefined]]) },
    [
      'track: nobody has answered the question for consent',
      '  waits for: acme',
      '  so: Events wait in the memory of this page. Nothing is stored or sent.',
      "  fix: For a test, answer the shop's question, or call track.consent('granted').",
    ],
  ],
  [
    'nobody has answered a cookieless key without a source',
    { mode: 'cookieless' },
    [
      'track: nobody has answered the question for consent',
      '  so: Events are sent without a device id, and nothing is stored.',
      "  fix: For a test, answer the shop's question, or call track.consent('granted').",
    ],
  ],
  [
    'the visitor has agreed on the shop, and a source too',
    { state: 'granted', choice: 'granted', answers: new Map([['acme', 'granted']]) },
    ['track: consent is granted', '  by: the answer of this visitor on this shop (track.c), acme'],
  ],
  [
    'a key that does not ask',
    { state: 'granted', mode: 'granted' },
    ['track: consent is granted', "  by: the key's setting consent, and nobody has refused"],
  ],
  [
    'another tab',
    { state: 'granted' },
    ['track: consent is granted', '  by: another tab of this shop'],
  ],
  [
    'one source of two refuses',
    {
      state: 'denied',
      answers: new Map([
        ['acme', 'denied'],
        ['tcf', 'granted'],
      ] as const),
    },
    [
      'track: consent is denied',
      '  by: acme',
      '  so: Events are dropped. Nothing is stored or sent.',
      '  fix: For a test, change the answer there.',
    ],
  ],
  [
    'the browser refuses: an answer on the shop overrules it',
    { state: 'denied', answers: new Map([['signal', 'denied']]) },
    [
      'track: consent is denied',
      "  by: this browser's Global Privacy Control or Do Not Track",
      '  so: Events are dropped. Nothing is stored or sent.',
      "  fix: For a test, answer the shop's question, or call track.consent('granted').",
    ],
  ],
])('%s', (_, given, lines) => {
  expect(describeConsent(consentFacts(known(given))).split('\n')).toEqual(lines)
})

const row = (name: string) => ({ name, events: '', rules: [] })

describe('faults', () => {
  test('a tag asks for consent, and the script of its key can not', () => {
    const [text = ''] = findConsentFaults({}, 'required')
    expect(text).toMatch(/^track: nothing is recorded: .+data-consent="required"/)
    expect(text).toContain(`--config '{"consent":"required"}'`)
  })

  test('a source that does not exist', () => {
    const served: Served = {
      consentSources: ['auto', 'consentMode', 'acme', 'acmee'],
      consentTools: [row('signal'), row('acme')],
    }
    expect(findConsentFaults(served, undefined)).toEqual([
      expect.stringContaining('the consent source acmee is unknown'),
    ])
  })

  test.each<[string, Served, string | undefined]>([
    ['a key without consent', {}, undefined],
    ['a tag that needs none', {}, 'granted'],
    ['a tag of a key that can ask', { consentTools: [row('signal')] }, 'required'],
    ['a tag of a key with excluded paths', { exclude: ['/account'] }, 'required'],
    ['a tag of a key with a cookie', { cookieDomain: 'auto' }, 'required'],
    ['a tag of a key in first-party mode', { firstParty: true }, 'required'],
  ])('none: %s', (_, served, asked) => {
    expect(findConsentFaults(served, asked)).toEqual([])
  })
})

describe('missing sources', () => {
  const missing = (served: Served, ...found: string[]) =>
    findMissingSources(served, new Set(found), 10).map((text) => text.split('\n')[0])

  test('a tool and Consent Mode', () => {
    const served: Served = {
      consentSources: ['acme', 'consentMode'],
      consentTools: [row('signal'), row('acme')],
    }
    expect(missing(served, 'signal')).toEqual([
      'track: the consent source acme was not found on this page after 10 seconds',
      'track: the consent source consentMode was not found on this page after 10 seconds',
    ])
    expect(missing(served, 'acme', 'consentMode')).toEqual([])
  })

  test('auto finds one of its tools, or reports that there is none', () => {
    const served: Served = {
      consentSources: ['auto'],
      consentTools: [row('signal'), row('acme'), row('other')],
    }
    expect(missing(served, 'other')).toEqual([])
    expect(missing(served, 'signal')).toEqual([
      'track: no consent tool was found on this page after 10 seconds',
    ])
    expect(findMissingSources(served, new Set(), 10)[0]).toContain('looks for: acme, other.')
  })

  test('an unknown source is not reported a second time', () => {
    expect(missing({ consentSources: ['acmee'], consentTools: [row('signal')] })).toEqual([])
  })
})

describe('whether a source is on the page', () => {
  const tools = CONSENT_TOOLS.filter(({ push }) => !push)

  test.each(tools)('$name is not on a page without its names', (row) => {
    expect(isOnPage(row, {})).toBe(false)
  })

  test.each<[string, object, object]>([
    ['a state in an object', { state: ['Acme', 'consent'] }, { Acme: {} }],
    ['a state by a method', { state: [['getAcme', 1], 'x'] }, { getAcme: 1 }],
    [
      'rules from window',
      { state: [], rules: [['granted', ['acmeGroups', 'x']]] },
      { acmeGroups: '' },
    ],
    ['a listener', { load: [['__acme', 'add', 2]] }, { __acme: 1 }],
  ])('%s', (_, given, page) => {
    const source = { ...row('acme'), ...given }
    expect([isOnPage(source, page), isOnPage(source, {})]).toEqual([true, false])
  })
})
