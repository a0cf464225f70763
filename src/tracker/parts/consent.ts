import type { DropReason } from '../../contract/delivery.ts'
import { CONSENT_EVENTS } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import type { TrackApi } from '../global.d.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import { createStore } from '../lib/storage.ts'
import { whenShown } from '../lib/whenShown.ts'
import type { Kind, Notices } from '../notices.ts'
import type { Entry, Outbox } from '../outbox.ts'
import type { Part } from '../parts.ts'

const STATES = ['denied', 'granted'] as const
type Count = NonNullable<Notices['count']>
type State = (typeof STATES)[number] | undefined

/** Name in localStorage of what the visitor has chosen on this shop. */
const CHOICE = 'track.c'
/** Names that a denial removes from both storages, besides the outbox and the device id. */
const STORED = ['track.turn', 'track.ignore', 'track.ga4', 'track.debug', 'track.panel']
/** The field `did` of a body. It is the first of every payload. */
const DID = /"did":"(\\.|[^\\"])*",/
/** In place of a device id while there must be none. Neither stored nor sent. */
const NONE = 'none'

/**
 * The visitor's consent, for all keys of the page (docs/decisions.md, "Consent"). Until it is given, storage and cookies
 * are closed, and events are held in memory, or sent without a device id if every key allows that.
 *
 * The sources of consent and the excluded paths are functions in a key's configuration, if its script has them.
 *
 * @returns To be called for each key, before its other parts are.
 */
export const consent: Part = (
  _track,
  configs,
  notices,
  readers,
  _reports,
  _newId,
  session,
  outbox,
  deviceId,
  helpers,
  setOpen,
  begin,
) => {
  const local = createStore(() => localStorage)
  const { add } = outbox
  const { count } = notices
  const { get } = deviceId
  const { reset } = helpers
  /** Reads the sources of a key again. */
  const reads = new Map<Config, (() => void) | undefined>()
  /**
   * What each source says: `choice` the visitor on this shop, now or earlier; `tab` a source in another tab; `signal`
   * the browser; a source's name with a key what it says to that key. Values other than `granted` and `denied` are no
   * answer.
   */
  const answers: { [source: string]: unknown } = {}
  const page = helpers as { -readonly [K in keyof TrackApi]: TrackApi[K] }
  let state: State
  /** Whether the first decision was made. */
  let isRunning: boolean | undefined
  let held: Entry[] = []

  const all = (test: (config: Config) => unknown) => [...configs.values()].every(test)
  /** Whether each key has this rule or none. An unknown one is as strict as `required`. */
  const isAll = (mode?: unknown) =>
    all(({ consent = 'granted' }) => consent === mode || consent === 'granted')
  /** A denial if Global Privacy Control or Do Not Track is on, and honoured by a key. */
  const readSignal = () =>
    !all(
      ({ consentTools, consent, gpc = consentTools || consent, dnt }) =>
        !(gpc && (navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl) &&
        !(dnt && +(navigator.doNotTrack as string)),
    ) && 'denied'
  const did = () =>
    state === 'granted' && all(({ isExcluded, exclude }) => !isExcluded?.(exclude, location.href))
      ? get()
      : ''
  const notify = (kind: Kind, { name, key, about }: Entry, reason: DropReason) =>
    notices.emit(kind, { id: name.slice(0, 36), key, ...about, reason })

  const addOrHold: Outbox['add'] = (entry) => {
    const { key, body } = entry
    if (state === 'denied') return 'no_consent'
    const { isExcluded, exclude, consentEvents, consent, consentReplay } = configs.get(
      key,
    ) as Config
    if (isExcluded?.(exclude, JSON.parse(body).url)) return 'ignored'
    if (state)
      return add({ ...entry, body: body.replace(`"did":"${NONE}"`, () => `"did":"${get()}"`) })
    // The gateway takes events without a device id only for such a key.
    if (consent === 'cookieless' && isAll(consent))
      return add({ ...entry, body: body.replace(DID, '') })
    if (consentReplay === false) return 'no_consent'
    // An event has an entry for each key.
    if (!(held.length < +(consentEvents ?? CONSENT_EVENTS) * configs.size)) return 'outbox_full'
    held.push(entry)
    // Later, so that the notice comes after that of the accepted event.
    Promise.resolve().then(() => notify('held', entry, 'no_consent'))
    return
  }

  /** @param isForced Opens or closes also if the state has not changed. Returns the new state, if it has changed. */
  const update = (isForced?: unknown) => {
    // Only a choice on this shop overrules the browser's signal.
    answers.signal = answers.choice !== 'granted' && guard(readSignal)
    const before = state
    // A denial of any source wins.
    state =
      STATES.find((one) => Object.values(answers).includes(one)) ??
      (isAll() ? 'granted' : undefined)
    const isNew = state !== before
    if (!isNew && !isForced) return
    outbox.add = addOrHold
    // A denial opens them to delete what is there.
    setOpen(!!state)
    const entries = [...(state === 'denied' ? outbox.all([], true) : outbox.own()), ...held]
    held = state ? [] : held
    if (state === 'granted' && isRunning) begin()
    if (state)
      for (const entry of entries) {
        const reason = outbox.add(entry)
        if (!reason) continue
        outbox.remove(entry.name)
        notify('dropped', entry, reason)
      }
    if (state === 'denied') {
      deviceId.reset(0)
      for (const name of STORED) {
        local.remove(name)
        session.remove(name)
      }
      setOpen(false)
    }
    page.consentState = state
    // It is stored before other tabs learn of the consent, so that they make no other.
    did()
    if (isNew) notices.emit('consent' as Kind, state as never)
    return isNew && state
  }

  const choose = (given: unknown) =>
    whenShown(() => {
      if (!STATES.includes(given as never)) return
      answers.choice = given
      update()
      local.set(CHOICE, given as string)
    })

  outbox.add = addOrHold
  deviceId.get = () => did() || NONE
  Object.defineProperty(page, 'did', { get: did })
  // Excluded pages report nothing. Before a grant storage is closed.
  notices.count = (notice) => did() && (count as Count)(notice)
  page.consent = choose
  page.consentState = state
  page.reset = () => {
    held = []
    reset()
    // It could not be stored.
    if (state !== 'granted') deviceId.reset(0)
  }

  // A page in the back/forward cache gets no storage events.
  listen(self, 'storage pageshow', (event) => {
    const { key, newValue, persisted } = event as StorageEvent & PageTransitionEvent
    if (key !== CHOICE && !persisted) return
    answers.choice = local.get(CHOICE) ?? answers.choice
    for (const read of reads.values()) read?.()
    // With a space, what a source says in another tab.
    if (/ /.test(newValue as string)) answers.tab = (newValue as string).trim()
    update()
  })
  listen(
    self,
    'click',
    (event) => {
      choose(
        (event.composedPath() as HTMLElement[]).map((on) => on.dataset?.trackConsent).find(Boolean),
      )
    },
    true,
  )

  return (config) => {
    if (reads.has(config)) return
    reads.set(config, undefined)
    whenShown(() => {
      answers.choice = local.get(CHOICE) ?? answers.choice
      reads.set(
        config,
        config.watchSources?.(config, readers, (source, given) => {
          // Keys may ask one source for different things.
          source += config.key
          // It knows later than the other tab.
          if (answers[source] !== given) answers.tab = 0
          answers[source] = given
          return isRunning && update()
        }),
      )
      update(true)
      isRunning = true
    })
  }
}
