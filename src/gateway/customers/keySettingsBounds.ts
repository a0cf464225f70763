import { isLongerThan } from '../../contract/characters.ts'
import { MAX_SHORT_CHARACTERS, MAX_TEXT_CHARACTERS } from '../../contract/fields.ts'
import { EVENT_NAMES, type Issue, type TrackingOperation } from '../../contract/index.ts'
import { GLOBAL, type KeySettings, PAGE_VIEW_EVENT } from '../../contract/settings.ts'

/** The most names in `mask`. */
export const MAX_MASKED = 100
/** The largest settings as JSON, bytes: they are part of every page's script. */
export const MAX_SETTINGS_BYTES = 16_384

/** The settings that are too long, and the globals whose name a page can not have. */
export function findBoundIssues(settings: KeySettings): Issue[] {
  const { eventPrefix = '', events = {}, pageViewEvent = PAGE_VIEW_EVENT, mask = [] } = settings
  const issues: Issue[] = []
  const bound = (path: string, text: string | undefined, max: number, what = 'characters') => {
    if (text !== undefined && isLongerThan(text, max))
      issues.push({ path, message: `Expected at most ${max} ${what}` })
  }

  const withPrefix = eventPrefix ? 'characters with eventPrefix' : 'characters'
  const names = { ...EVENT_NAMES, ...events }
  for (const operation of Object.keys(names) as TrackingOperation[])
    bound(`events.${operation}`, eventPrefix + names[operation], MAX_SHORT_CHARACTERS, withPrefix)
  bound('pageViewEvent', eventPrefix + pageViewEvent, MAX_SHORT_CHARACTERS, withPrefix)
  bound('source', settings.source, MAX_TEXT_CHARACTERS)
  bound('remoteAddr', settings.remoteAddr, MAX_TEXT_CHARACTERS)
  bound('dataLayerPrefix', settings.dataLayerPrefix, MAX_SHORT_CHARACTERS)
  if (mask.length > MAX_MASKED)
    issues.push({ path: 'mask', message: `Expected at most ${MAX_MASKED} names` })
  for (const [i, name] of mask.slice(0, MAX_MASKED).entries())
    bound(`mask.${i}`, name, MAX_SHORT_CHARACTERS)
  issues.push(...findAdoptIssues(settings.adoptDid))
  const { dataLayerName, global } = settings
  for (const [path, given] of Object.entries({ dataLayerName, global }))
    if (given !== undefined && !canBeGlobal(given) && !(path === 'global' && given === GLOBAL))
      issues.push({
        path,
        message: `Expected a JavaScript identifier of at most ${MAX_SHORT_CHARACTERS} characters that is not a built-in of the page`,
      })
  if (Buffer.byteLength(JSON.stringify(settings)) > MAX_SETTINGS_BYTES)
    issues.push({ path: '', message: `Expected at most ${MAX_SETTINGS_BYTES} bytes as JSON` })
  return issues
}

/** The most fields in the path of `adoptDid`. */
const MAX_PATH_FIELDS = 5

/** What is wrong with the place of an id: it is one cookie or one name in localStorage, and fields of JSON in it. */
function findAdoptIssues(adopt: KeySettings['adoptDid']): Issue[] {
  if (typeof adopt !== 'object') return []
  const { cookie, storage, path } = adopt
  const issues: Issue[] = []
  const expect = (field: string, isRight: boolean, expected: string) => {
    if (!isRight) issues.push({ path: `adoptDid${field}`, message: `Expected ${expected}` })
  }
  expect('', (cookie === undefined) !== (storage === undefined), 'either cookie or storage')
  const short = `of at most ${MAX_SHORT_CHARACTERS} characters`
  expect('.cookie', !cookie || isShort(cookie, /^[!-+\--:<>-~]+$/), `the name of a cookie ${short}`)
  expect('.storage', !storage || isShort(storage, /^\P{C}+$/u), `a name in localStorage ${short}`)
  expect(
    '.path',
    !path ||
      (isShort(path, /^[^"\\\p{C}.]+(\.[^"\\\p{C}.]+)*$/u) &&
        path.split('.').length <= MAX_PATH_FIELDS),
    `1 to ${MAX_PATH_FIELDS} names with dots in between, ${short}`,
  )
  return issues
}

const isShort = (text: string, form: RegExp): boolean =>
  text.length <= MAX_SHORT_CHARACTERS && form.test(text)

/** Whether a page can have a global of this name. For example, `window.location = []` would leave the page. */
const canBeGlobal = (name: string): boolean =>
  name.length <= MAX_SHORT_CHARACTERS &&
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) &&
  !/^on[a-z]+$/.test(name) &&
  !BUILT_IN.has(name)

/**
 * The properties of Window (https://html.spec.whatwg.org/multipage/nav-history-apis.html#the-window-object and the
 * standards that extend it) and of Object.prototype, reserved words, and `track`.
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
