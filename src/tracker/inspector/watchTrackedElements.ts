import type { TrackNotice } from '../global.d.ts'
import { around, DISABLED, find, readAround, whenUsed } from '../lib/trackedElements.ts'
import { readSettings, tagOf } from './readSettings.ts'
import { watchPresence } from './watchPresence.ts'

/**
 * Tells of what a visitor did at a marked element and the attributes part passes over: `disabled` (a
 * control), `prevented` (a submit), and of one that reports by being there where that can not be read
 * (`presence`). Where the first key has attributes off, nothing.
 *
 * @param page Where the script's tag is.
 * @param tell Told each, a little after it happened.
 * @param get The browser's `fetch`, for the settings: asked for once, and only where there is something to tell.
 * @param load The browser's `import`.
 */
export function watchTrackedElements(
  page: Window,
  tell: (notice: TrackNotice) => void,
  get: typeof fetch = fetch,
  load: (address: string) => Promise<unknown> = (address) => import(address),
): void {
  const own = tagOf(page)?.dataset.attributes
  let settings: ReturnType<typeof readSettings> | undefined

  const drop = async (where: HTMLElement, code: string) => {
    if (own === undefined) settings ??= readSettings(page, get)
    if (own === 'false' || (await settings)?.attributes === false) return
    tell({ operation: where.dataset.track, reason: 'invalid', code, where })
  }

  watchPresence(page, (where) => drop(where, 'presence'), load)
  whenUsed((element, event, path) => {
    if (find(path, DISABLED)) return drop(element, 'disabled')
    if (event.type === 'submit' && readAround(around(element), 'prevented') !== 'count')
      setTimeout(() => event.defaultPrevented && drop(element, 'prevented'))
    return
  })
}
