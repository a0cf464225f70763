import type { DropReason } from '../../contract/delivery.ts'
import { CONSENT_EVENTS } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { listen } from '../lib/listen.ts'
import { createStore } from '../lib/storage.ts'
import { whenShown } from '../lib/whenShown.ts'
import type { Kind } from '../notices.ts'
import type { Entry, Outbox } from '../outbox.ts'
import type { Part } from '../parts.ts'

type State = 'granted' | 'denied' | undefined

/** Name in localStorage of what the visitor has chosen on this shop. */
const CHOICE = 'track.c'
/** The other names that a denial removes from both storages, besides the outbox and the device id. */
const STORED = ['turn', 'ignore', 'ga4', 'debug']
/** The field `did` of a body. It is the first of every payload. */
const DID = /"did":"(\\.|[^\\"])*",/
/** In place of a device id while there must be none. Neither stored nor sent. */
const NONE = 'none'

const stateOf = (value: unknown) =>
  /^(granted|denied)$/.test(value as string) ? (value as State) : undefined

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
  _session,
  outbox,
  deviceId,
  helpers,
  setOpen,
  begin,
) => {
  const local = createStore(() => localStorage)
  const { add } = outbox
  const { get } = deviceId
  const { reset } = helpers
  /** For each key, what reads its sources again. */
  const known = new Map<Config, (() => void) | undefined>()
  /**
   * What each source says: `choice` the visitor on this shop, now or earlier; `tab` a source in another tab; `signal`
   * Global Privacy Control or Do Not Track.
   */
  const answers: { [source: string]: State } = {}
  let state: State
  let isCookieless: boolean
  /** Whether the first decision was made. */
  let isRunning: boolean | undefined
  let held: Entry[] = []

  const all = (test: (config: Config) => unknown) => [...configs.values()].every(test)
  const isAll = (modes: RegExp) => all(({ consent }) => modes.test(consent || 'granted'))
  const did = () =>
    state === 'granted' && all(({ isExcluded, exclude }) => !isExcluded?.(exclude, location.href))
      ? get()
      : ''
  const readChoice = () => {
    answers.choice = stateOf(local.get(CHOICE))
  }
  const notify = (kind: Kind, { name, key }: Entry, reason: DropReason) =>
    notices.emit(kind, { id: name.slice(0, 36), key, reason })

  const addOrHold: Outbox['add'] = (entry) => {
    const { key, body } = entry
    const { isExcluded, exclude, consentReplay, consentEvents } = configs.get(key) as Config
    if (isExcluded?.(exclude, JSON.parse(body).url)) return 'ignored'
    if (state === 'granted')
      return add({ ...entry, body: body.replace(`"did":"${NONE}"`, () => `"did":"${get()}"`) })
    if (state || consentReplay === false) return 'no_consent'
    if (isCookieless) return add({ ...entry, body: body.replace(DID, '') })
    if (held.filter((other) => other.key === key).length >= +(consentEvents ?? CONSENT_EVENTS))
      return 'outbox_full'
    held.push(entry)
    // Later, so that the notice comes after that of the accepted event.
    Promise.resolve().then(() => notify('held', entry, 'no_consent'))
    return
  }

  /** @param isForced Opens or closes also if the state has not changed. Returns the new state, if it has changed. */
  const update = (isForced?: unknown) => {
    const says = (wanted: State) =>
      Object.keys(answers).some(
        (source) =>
          answers[source] === wanted && !(source === 'signal' && answers.choice === 'granted'),
      )
    const before = state
    state = says('denied')
      ? 'denied'
      : says('granted') || isAll(/^granted$/)
        ? 'granted'
        : undefined
    isCookieless = isAll(/^(granted|cookieless)$/)
    const isNew = state !== before
    if (!isNew && !isForced) return
    outbox.add = addOrHold
    // A denial opens them to delete what is there.
    setOpen(!!state)
    const entries = [...(state === 'denied' ? outbox.all([]) : outbox.own()), ...held]
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
      setOpen(false)
      for (const name of STORED)
        for (const store of [local, createStore(() => sessionStorage)]) store.remove(`track.${name}`)
    }
    Object.assign(helpers, { consentState: state })
    if (isNew) notices.emit('consent' as Kind, state as never)
    return isNew ? state : undefined
  }

  const choose = (given: unknown) =>
    whenShown(() => {
      if (!stateOf(given)) return
      local.set(CHOICE, given as string)
      answers.choice = stateOf(given)
      answers.tab = undefined
      update()
    })

  outbox.add = addOrHold
  deviceId.get = () => did() || NONE
  Object.defineProperty(helpers, 'did', { get: did })
  Object.assign(helpers, {
    consent: choose,
    consentState: state,
    reset() {
      held = []
      reset()
      // It could not be stored.
      if (state !== 'granted') deviceId.reset(0)
    },
  })

  listen(window, 'storage', (event) => {
    const { key, newValue } = event as StorageEvent
    if (key !== CHOICE) return
    readChoice()
    // What a source said is removed at once.
    if (newValue && newValue !== answers.choice) answers.tab = stateOf(newValue)
    update()
  })
  listen(window, 'pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    readChoice()
    for (const read of known.values()) read?.()
    update()
  })
  listen(
    window,
    'click',
    (event) => {
      for (const { dataset } of event.composedPath() as HTMLElement[]) choose(dataset?.trackConsent)
    },
    true,
  )

  return (config) => {
    if (known.has(config)) return
    known.set(config, undefined)
    const { watchSources, gpc = watchSources || config.consent, dnt } = config
    const { globalPrivacyControl, doNotTrack } = navigator as Navigator & {
      globalPrivacyControl?: unknown
    }
    whenShown(() => {
      readChoice()
      if ((gpc && globalPrivacyControl) || (dnt && doNotTrack === '1')) answers.signal = 'denied'
      known.set(
        config,
        watchSources?.(
          config,
          readers,
          (source, said) => {
            answers[source] = said
            if (!isRunning) return
            answers.tab = undefined
            return update()
          },
          choose,
        ),
      )
      update(true)
      isRunning = true
    })
  }
}
