import type { Config } from '../config.ts'
import type { TrackApi } from '../global.d.ts'
import { type Answered, watchConsent as watchSources } from '../lib/consentSources.ts'
import { guard } from '../lib/guard.ts'
import {
  type ConsentFacts,
  consentFacts,
  describeConsent,
  findConsentFaults,
  findMissingSources,
  isOnPage,
  type Served,
  SIGNAL,
} from './describeConsent.ts'
import { signalReader } from './signalReader.ts'

/** A source that was not found after this time is reported, seconds. Consent tools load late. */
export const MISSING_SECONDS = 10
/** The time between two looks into the page's dataLayer, ms. */
const LOOK_MS = 500
/** Some sources answer by a promise, so they are asked again this long after a change, ms. */
const SETTLE_MS = 100

/**
 * Prints what the consent of the visitor is, where it comes from, and each change; mistakes in its settings; and the
 * sources that are not on the page. It reads the sources of the key as the script does. Prints nothing for a key that
 * does not ask for consent, unless the tag does.
 *
 * @param config The configuration of the key.
 * @param read The remembered answer, `track.c`.
 * @param show Receives the consent whenever it is printed.
 */
export function watchConsent(
  page: Window,
  helpers: Pick<TrackApi, 'on' | 'consentState'>,
  config: Config,
  print: (text: string) => void,
  read: () => string | null | undefined,
  show: (facts: ConsentFacts) => void = () => {},
): void {
  // A tag can not set the lists.
  const settings = config as Served
  const mode = config.consent ?? 'granted'
  const faults = findConsentFaults(settings, mode)
  for (const text of faults) print(text)
  if (!config.consentTools && (faults.length > 0 || mode === 'granted')) return

  const signals = { gpc: config.gpc === undefined || !!config.gpc, dnt: !!config.dnt }
  const answers = new Map<string, Answered>()
  const readers: Parameters<typeof watchSources>[1] = new Map()
  const readAgain = watchSources(
    { ...settings, consentTools: [signalReader(signals), ...(config.consentTools ?? [])] },
    readers,
    (name, answer) => {
      const row = config.consentTools?.find((other) => other.name === name)
      // The script reads each source without a look whether it is there. Nobody waits for the browser's signals.
      if (
        answer ||
        name === 'consentMode' ||
        (row && name !== SIGNAL && (row.push || isOnPage(row, page)))
      )
        answers.set(name, answer)
      else answers.delete(name)
    },
  )
  // By the object, since tag managers shorten the array.
  const seen = new WeakSet<object>()
  const look = () => {
    const layer = (page as unknown as { readonly [name: string]: unknown })[
      config.dataLayerName ?? 'dataLayer'
    ]
    if (!Array.isArray(layer)) return
    for (const push of layer) {
      if (Object(push) !== push || seen.has(push)) continue
      seen.add(push)
      for (const [reader] of readers) guard(() => reader(push, undefined))
    }
  }
  setInterval(look, LOOK_MS)

  const report = () => {
    readAgain()
    look()
    setTimeout(() => {
      const choice = read()
      const facts = consentFacts({
        state: helpers.consentState,
        choice: choice === 'granted' || choice === 'denied' ? choice : undefined,
        answers,
        mode,
      })
      show(facts)
      print(describeConsent(facts))
    }, SETTLE_MS)
  }
  helpers.on('consent', report)
  report()
  setTimeout(() => {
    look()
    for (const text of findMissingSources(settings, answers, MISSING_SECONDS)) print(text)
  }, MISSING_SECONDS * 1_000)
}
