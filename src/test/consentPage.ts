import { afterEach, beforeEach, vi } from 'vitest'
import { consentConfig } from '../contract/consentConfig.ts'
import type { KeySettings } from '../contract/settings.ts'
import { type Answered, watchConsent } from '../tracker/lib/consentSources.ts'
import { watchTrack } from './watchTrack.ts'

export const page = window as unknown as { [name: string]: unknown }

let pages = 0
let layerName = ''
let added: string[] = []
const listening: Parameters<typeof window.addEventListener>[] = []

/** The name of the page's dataLayer. */
export const nameOfLayer = () => layerName

/** The page's dataLayer, as tags make it. */
export const layer = () => {
  page[layerName] ??= []
  return page[layerName] as unknown[]
}

/** As shops define it: it pushes its `arguments`, which are no array. */
export const gtag = new Function('layer', 'return function () { layer().push(arguments) }')(
  layer,
) as (...command: unknown[]) => void

/** Adds a global of the page until the end of the test. */
export const define = (name: string, value: unknown) => defineGetter(name, () => value)
export function defineGetter(name: string, get: () => unknown) {
  added.push(name)
  Object.defineProperty(page, name, { get, configurable: true })
}

/** Another page: without the globals and listeners of the one before, and with a dataLayer of its own. */
export function leavePage() {
  for (const listener of listening.splice(0)) window.removeEventListener(...listener)
  for (const name of added) delete page[name]
  added = []
  document.body.innerHTML = ''
  layerName = `layer${++pages}`
}

/** Stops the clock, and gives each test a page. */
export function useConsentPages() {
  beforeEach(() => {
    vi.useFakeTimers()
    leavePage()
  })
  afterEach(() => {
    vi.useRealTimers()
    leavePage()
  })
}

/** The sources of a key's consent on the page, as the gateway configures them. */
export function openConsent(settings: KeySettings & { readonly onTag?: object }) {
  const { onTag, ...config } = settings
  const answers: { [source: string]: Answered } = {}
  const listen = vi.spyOn(window, 'addEventListener')
  const watched = watchTrack({ dataLayerName: layerName, dataLayer: false })
  const read = watchConsent(
    { ...config, ...consentConfig(config), ...onTag },
    watched.state[3],
    (source, state) => {
      answers[source] = state
    },
  )
  watched.startDataLayer()
  listening.push(...listen.mock.calls)
  listen.mockRestore()
  return { answers, read }
}

export const dispatch = (target: EventTarget, type: string, detail?: unknown): void => {
  target.dispatchEvent(new CustomEvent(type, { detail }))
}

/** Lets promises of the page resolve. */
export const settle = () => vi.advanceTimersByTimeAsync(0)
