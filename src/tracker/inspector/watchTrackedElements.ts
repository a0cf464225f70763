import type { TrackNotice } from '../global.d.ts'
import { around, DISABLED, find, readAround, whenUsed } from '../lib/trackedElements.ts'
import { readSettings, tagOf } from './readSettings.ts'
import { watchPresence } from './watchPresence.ts'

/**
 * Warns of elements that the attributes part does not report: an action at a disabled control (`disabled`), a submit that the page
 * prevents (`prevented`), and `load` or `visible` elements whose script can not be loaded (`presence`). Does nothing if
 * the first key has attributes off.
 *
 * @param warn Called a little after it happened.
 * @param get `fetch`, for the key's settings. Used at most once, and only if there is something to report.
 * @param load `import`.
 */
export function watchTrackedElements(
  page: Window,
  warn: (notice: TrackNotice) => void,
  get: typeof fetch = fetch,
  load: (address: string) => Promise<unknown> = (address) => import(address),
): void {
  const own = tagOf(page)?.dataset.attributes
  let settings: ReturnType<typeof readSettings> | undefined

  const drop = async (where: HTMLElement, code: string) => {
    if (own === undefined) settings ??= readSettings(page, get)
    if (own === 'false' || (await settings)?.attributes === false) return
    warn({ operation: where.dataset.track, reason: 'invalid', code, where })
  }

  watchPresence(page, (where) => drop(where, 'presence'), load)
  whenUsed((element, event, path) => {
    if (find(path, DISABLED)) return drop(element, 'disabled')
    if (event.type === 'submit' && readAround(around(element), 'prevented') !== 'count')
      setTimeout(() => event.defaultPrevented && drop(element, 'prevented'))
    return
  })
}
