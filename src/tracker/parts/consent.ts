import type { DropReason } from '../../contract/delivery.ts'
import { CONSENT_EVENTS } from '../../contract/settings.ts'
import type { Config } from '../config.ts'
import { watchConsent } from '../lib/consentSources.ts'
import { guard } from '../lib/guard.ts'
import { listen } from '../lib/listen.ts'
import { createStore } from '../lib/storage.ts'
import { whenShown } from '../lib/whenShown.ts'
import type { Kind } from '../notices.ts'
import type { Entry, Outbox } from '../outbox.ts'
import type { Part } from '../parts.ts'

type State = 'granted' | 'denied' | undefined

/** Name in localStorage of what the visitor has chosen on this shop. */
const CHOICE = 'track.c'
/** Behind a state that a source reported: other tabs follow it, but it is not a choice, so it is removed at once. */
const TOLD = ' '
/** The other names that a denial removes from localStorage and sessionStorage, besides the outbox and the device id. */
const STORED = ['track.turn', 'track.ignore', 'track.ga4', 'track.debug']
/** In payloads in place of a device id while there must be none. It is neither stored nor sent. */
const NO_DID = '"did":"none"'
const DID = /"did":"(\\.|[^\\"])*",/

const stateOf = (value: unknown): State =>
  /^(granted|denied)$/.test(value as string) ? (value as State) : undefined

/**
 * Whether the path of a URL is one of the setting `exclude`, as it is written there or percent-decoded. `*` stands for
 * any text.
 */
const isExcluded = ({ exclude }: Config, url: string) => {
  if (!exclude) return
  const paths = `${exclude}`
    .replace(/[^\w*,]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/,/g, '|')
  const { pathname } = new URL(url)
  const pattern = RegExp(`^(${paths})$`)
  return pattern.test(pathname) || guard(() => pattern.test(decodeURI(pathname)))
}

/**
 * The visitor's consent, for all keys of the page (docs/decisions.md, "Consent"). Until it is given, storage and cookies
 * are closed, and events are held in memory, or sent without a device id if every key allows that.
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
  const stores = [createStore(() => localStorage), createStore(() => sessionStorage)] as const
  const { add } = outbox
  const { get } = deviceId
  const { reset } = helpers
  /** For each key, what reads its sources again. */
  const known = new Map<Config, () => void>()
  /** What each source says now. `tab` is what a source said in another tab. */
  const answers: { [source: string]: State } = {}
  /** What the visitor has chosen on this shop. */
  let choice: State
  let state: State
  let isCookieless: boolean
  /** Whether the first decision was made. */
  let isRunning = false
  let held: Entry[] = []

  const did = () =>
    state === 'granted' &&
    ![...configs.values()].some((config) => isExcluded(config, location.href))
      ? get()
      : ''
  const readChoice = () => stateOf(stores[0].get(CHOICE))
  const drop = (reason: DropReason, { name, key }: Entry) => {
    outbox.remove(name)
    notices.emit('dropped', { id: name.slice(0, 36), key, reason })
  }

  const addOrHold: Outbox['add'] = (entry) => {
    const { key, name, body } = entry
    const config = configs.get(key) as Config
    if (isExcluded(config, JSON.parse(body).url)) return 'ignored'
    if (state === 'granted')
      return add({ ...entry, body: body.replace(NO_DID, () => `"did":"${get()}"`) })
    if (state || config.consentReplay === false) return 'no_consent'
    if (isCookieless) return add({ ...entry, body: body.replace(DID, '') })
    if (
      held.filter((other) => other.key === key).length >= +(config.consentEvents ?? CONSENT_EVENTS)
    )
      return 'outbox_full'
    held.push(entry)
    // Later, so that the notice comes after that of the accepted event.
    Promise.resolve().then(() =>
      notices.emit('held', { id: name.slice(0, 36), key, reason: 'no_consent' }),
    )
    return
  }

  /** Deletes what waits or is stored, of this page and of earlier ones. */
  const purge = () => {
    setOpen(true)
    for (const entry of [...outbox.all([]), ...held]) drop('no_consent', entry)
    held = []
    deviceId.reset(0)
    setOpen(false)
    for (const store of stores) for (const name of STORED) store.remove(name)
  }

  /** @param isForced Opens or closes also if the state has not changed. */
  const update = (isForced?: unknown) => {
    const says = (wanted: State) =>
      choice === wanted ||
      Object.keys(answers).some(
        (source) => answers[source] === wanted && !(source === 'signal' && choice === 'granted'),
      )
    const modes = [...configs.values()].map(({ consent }) => consent || 'granted')
    const next = says('denied')
      ? 'denied'
      : says('granted') || modes.every((mode) => mode === 'granted')
        ? 'granted'
        : undefined
    const isNew = next !== state
    isCookieless = modes.every((mode) => /^(granted|cookieless)$/.test(mode))
    if (!isNew && !isForced) return
    state = next
    outbox.add = addOrHold
    if (state === 'granted') {
      setOpen(true)
      if (isRunning) begin()
      const entries = [...held, ...outbox.own()]
      held = []
      for (const entry of entries) {
        const reason = outbox.add(entry)
        if (reason) drop(reason, entry)
      }
    } else if (state) purge()
    else setOpen(false)
    Object.assign(helpers, { consentState: state })
    if (isNew) notices.emit('consent' as Kind, state as never)
  }

  const answer = (source: string, said: State) => {
    const before = state
    // Sources are read again and again. What another tab has reported counts until one of them changes.
    if (answers[source] !== said) delete answers.tab
    answers[source] = said
    if (!isRunning) return
    update()
    if (state === before) return
    // Other tabs get an event for each, and nothing stays that was not there. By then the device id is stored, so that
    // they do not make another.
    did()
    stores[0].set(CHOICE, state + TOLD)
    if (choice) stores[0].set(CHOICE, choice)
    else stores[0].remove(CHOICE)
  }

  const choose = (given: unknown) =>
    whenShown(() => {
      const chosen = stateOf(given)
      if (!chosen) return
      choice = chosen
      delete answers.tab
      update()
      did()
      stores[0].set(CHOICE, chosen)
    })

  deviceId.get = () => did() || 'none'
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
  outbox.add = addOrHold

  listen(window, 'storage', (event) => {
    const { key, newValue } = event as StorageEvent
    if (key !== CHOICE) return
    const said = stateOf(newValue?.trim())
    if (said === stateOf(newValue)) choice = said
    else answers.tab = said
    update()
  })
  listen(window, 'pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    choice = readChoice()
    for (const read of known.values()) read()
    update()
  })

  return (config) => {
    if (known.has(config)) return
    known.set(config, () => {})
    whenShown(() => {
      choice = readChoice()
      known.set(config, watchConsent(config, readers, answer, choose))
      update(true)
      isRunning = true
    })
  }
}
