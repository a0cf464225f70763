import { DATA_LAYER_NAME } from '../../contract/settings.ts'
import { watchConsent } from './consentSources.ts'
import { guard } from './guard.ts'
import { createStore } from './storage.ts'

/** Name in localStorage of what the visitor has chosen. Other tabs get an event of each change. */
const CHOICE = 'track.c'
/** Marks the answer of a source: other tabs follow it, but it is not a choice, so it is removed at once. */
const OF_SOURCE = ' '

type State = 'granted' | 'denied' | undefined
type Settings = Parameters<typeof watchConsent>[0] & { readonly dataLayerName?: string }
type Readers = Parameters<typeof watchConsent>[1]

/**
 * Watches the sources of a key. What was pushed into the dataLayer earlier is read at once, since it may forbid to store.
 *
 * @param answer Called with what a source says. Returns the new state of the page, if it has changed by that: it is passed
 * to the other tabs.
 * @returns Reads all sources again.
 */
export function watchSources(
  config: Settings,
  readers: Readers,
  answer: (source: string, given: State) => State | false,
): () => void {
  const store = createStore(() => localStorage)
  const own: Readers = new Map()
  const read = watchConsent(config, own, (source, given) => {
    const state = answer(source, given)
    if (!state) return
    // Nothing stays that was not there.
    const choice = store.get(CHOICE)
    store.set(CHOICE, state + OF_SOURCE)
    if (choice) store.set(CHOICE, choice)
    else store.remove(CHOICE)
  })
  const layer = (window as unknown as { readonly [name: string]: Iterable<object> })[
    config.dataLayerName ?? DATA_LAYER_NAME
  ]
  for (const [reader, known] of own) {
    readers.set(reader, known)
    guard(() => {
      for (const push of layer as Iterable<object>)
        guard(() => known.set(push, reader(push, undefined)))
    })
  }
  return read
}
