import { EVENT_NAMES, type Issue, type TrackingOperation } from '../../contract/index.ts'
import type { PublicConfig } from './publicConfig.ts'

/** Characters of an event name, of a parameter to mask, and of other names: the contract's bound of `event`. */
const MAX_NAME_CHARACTERS = 128
/** Characters of every other text: the contract's bound of `source` and `remote_addr`. */
const MAX_TEXT_CHARACTERS = 2_048
/** Names in `mask`. */
const MAX_MASKED = 100
/** The whole configuration as JSON, bytes: it is in every page's script. */
const MAX_CONFIG_BYTES = 16_384

const PAGE_VIEW_EVENT = 'view_page'

/**
 * What is too long in a configuration, or names a global array that can not be one. Asked where a configuration
 * is given, not where a stored one is read: a customer that has had such a setting goes on with it.
 */
export function findExcess(config: PublicConfig): Issue[] {
  const { eventPrefix = '', events = {}, pageViewEvent = PAGE_VIEW_EVENT, mask = [] } = config
  const issues: Issue[] = []
  const bound = (path: string, text: string | undefined, max: number, what = 'characters') => {
    if (text !== undefined && [...text].length > max)
      issues.push({ path, message: `Expected at most ${max} ${what}` })
  }

  const withPrefix = eventPrefix ? 'characters with eventPrefix' : 'characters'
  const names = { ...EVENT_NAMES, ...events }
  for (const operation of Object.keys(names) as TrackingOperation[])
    bound(`events.${operation}`, eventPrefix + names[operation], MAX_NAME_CHARACTERS, withPrefix)
  bound('pageViewEvent', eventPrefix + pageViewEvent, MAX_NAME_CHARACTERS, withPrefix)
  bound('source', config.source, MAX_TEXT_CHARACTERS)
  bound('remoteAddr', config.remoteAddr, MAX_TEXT_CHARACTERS)
  bound('dataLayerPrefix', config.dataLayerPrefix, MAX_NAME_CHARACTERS)
  if (mask.length > MAX_MASKED)
    issues.push({ path: 'mask', message: `Expected at most ${MAX_MASKED} names` })
  for (const [i, name] of mask.slice(0, MAX_MASKED).entries())
    bound(`mask.${i}`, name, MAX_NAME_CHARACTERS)
  const { dataLayerName, global } = config
  for (const [path, given] of Object.entries({ dataLayerName, global }))
    if (given !== undefined && !canBeGlobal(given) && !(path === 'global' && given === 'track'))
      issues.push({
        path,
        message: `Expected a JavaScript identifier of at most ${MAX_NAME_CHARACTERS} characters that is no built-in of the page`,
      })
  if (Buffer.byteLength(JSON.stringify(config)) > MAX_CONFIG_BYTES)
    issues.push({ path: '', message: `Expected at most ${MAX_CONFIG_BYTES} bytes as JSON` })
  return issues
}

/**
 * Whether a global may have this name: `window.location = []` would leave the page, and a built-in that is
 * replaced breaks pages.
 */
const canBeGlobal = (name: string): boolean =>
  name.length <= MAX_NAME_CHARACTERS &&
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) &&
  !/^on[a-z]+$/.test(name) &&
  !BUILT_IN.has(name)

/**
 * Names of the Window object (https://html.spec.whatwg.org/multipage/nav-history-apis.html#the-window-object and
 * the standards that extend it), reserved words, `track`, and what every object inherits.
 */
const BUILT_IN: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(globalThis),
  ...Object.getOwnPropertyNames(Object.prototype),
  ...`window self document name location history navigation customElements locationbar menubar personalbar
    scrollbars statusbar toolbar status closed frames length top opener parent frameElement navigator
    clientInformation originAgentCluster external screen visualViewport innerWidth innerHeight scrollX pageXOffset
    scrollY pageYOffset screenX screenLeft screenY screenTop outerWidth outerHeight devicePixelRatio event
    isSecureContext crossOriginIsolated origin caches indexedDB localStorage sessionStorage cookieStore
    speechSynthesis trustedTypes scheduler launchQueue sharedStorage documentPictureInPicture viewport styleMedia
    chrome close stop focus blur open alert confirm prompt print postMessage captureEvents releaseEvents
    getComputedStyle matchMedia moveTo moveBy resizeTo resizeBy scroll scrollTo scrollBy find getSelection
    requestAnimationFrame cancelAnimationFrame requestIdleCallback cancelIdleCallback createImageBitmap
    reportError showOpenFilePicker showSaveFilePicker showDirectoryPicker fetchLater addEventListener
    removeEventListener dispatchEvent when track Window Document Element HTMLElement Node NodeList Image Audio Option
    Storage Location History Navigator Screen XMLHttpRequest XMLDocument FileReader Worker SharedWorker
    MutationObserver IntersectionObserver ResizeObserver WebSocket EventSource DOMParser Range Selection Notification
    await break case catch class const continue debugger default delete do else enum export extends false finally for
    function if implements import in instanceof interface let new null package private protected public return static
    super switch this throw true try typeof var void while with yield arguments eval`
    .split(/\s+/)
    .filter(Boolean),
])
