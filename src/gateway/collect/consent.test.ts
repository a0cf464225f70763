import { expect, test } from 'vitest'
import type { KeySettings } from '../../contract/settings.ts'
import { judgeConsent } from './consent.ts'

const PAGE = false
const SERVER = true
const NO_DID = /^no_consent: The event has no did/
const DENIED = /^no_consent: The event says that the visitor has not consented/

type Row = readonly [
  mode: KeySettings['consent'],
  isServer: boolean,
  did: unknown,
  reported: unknown,
  outcome: 'as usual' | 'cookieless' | RegExp,
]

test.each<Row>([
  // A key of a shop that needs nothing: the contract refuses what has no did.
  [undefined, PAGE, 'd', undefined, 'as usual'],
  [undefined, PAGE, undefined, undefined, 'as usual'],
  [undefined, PAGE, 'd', 'denied', DENIED],
  ['granted', PAGE, 'd', undefined, 'as usual'],
  ['granted', PAGE, null, undefined, 'as usual'],
  ['granted', PAGE, 'd', 'denied', DENIED],
  ['granted', SERVER, 'd', 'denied', DENIED],
  ['required', PAGE, 'd', undefined, 'as usual'],
  ['required', PAGE, 'd', 'granted', 'as usual'],
  ['required', PAGE, undefined, undefined, NO_DID],
  ['required', PAGE, null, undefined, NO_DID],
  ['required', PAGE, undefined, 'granted', NO_DID],
  ['required', PAGE, 'd', 'denied', DENIED],
  ['required', PAGE, undefined, 'denied', DENIED],
  ['required', SERVER, 'd', undefined, 'as usual'],
  ['required', SERVER, undefined, undefined, 'as usual'],
  ['required', SERVER, 'd', 'denied', DENIED],
  ['cookieless', PAGE, 'd', undefined, 'as usual'],
  ['cookieless', PAGE, undefined, undefined, 'cookieless'],
  ['cookieless', PAGE, null, undefined, 'cookieless'],
  ['cookieless', PAGE, 'd', 'denied', 'cookieless'],
  ['cookieless', PAGE, undefined, 'denied', 'cookieless'],
  // What is no device id is left to the contract, which refuses it.
  ['cookieless', PAGE, '', undefined, 'as usual'],
  ['cookieless', PAGE, 7, undefined, 'as usual'],
  ['cookieless', SERVER, 'd', undefined, 'as usual'],
  ['cookieless', SERVER, undefined, undefined, 'as usual'],
  ['cookieless', SERVER, 'd', 'denied', DENIED],
  // Nothing else says that there is no consent.
  ['required', PAGE, 'd', 'Denied', 'as usual'],
  ['required', PAGE, 'd', ['denied'], 'as usual'],
  ['required', PAGE, 'd', '', 'as usual'],
])('consent %j, server %j, did %j, reported %j', (consent, isServer, did, reported, outcome) => {
  const judged = judgeConsent({ config: consent ? { consent } : {} }, isServer, did, reported)
  if (outcome instanceof RegExp)
    expect(judged).toEqual({
      ok: false,
      status: 422,
      reason: 'no_consent',
      message: expect.stringMatching(outcome),
    })
  else expect(judged).toEqual({ ok: true, isCookieless: outcome === 'cookieless' })
})

test('a key with sources of consent requires it, unless its settings say something else', () => {
  const judge = (config: KeySettings) => judgeConsent({ config }, PAGE, undefined, undefined)
  expect(judge({ consentSources: ['tcf'] })).toMatchObject({ ok: false, message: NO_DID })
  expect(judge({ consentSources: [] })).toEqual({ ok: true, isCookieless: false })
  const config: KeySettings = { consentSources: ['tcf'], consent: 'granted' }
  expect(judge(config)).toEqual({ ok: true, isCookieless: false })
})
