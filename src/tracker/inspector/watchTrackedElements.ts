import { ATTRIBUTES } from '../../contract/settings.ts'
import type { InspectorState } from '../debug.ts'
import type { TrackNotice } from '../global.d.ts'
import { around, DISABLED, find, readAround, whenUsed } from '../lib/trackedElements.ts'
import { watchPresence } from './watchPresence.ts'

/**
 * Warns of elements that the attributes part does not report: an action at a disabled control (`disabled`), a submit that the page
 * prevents (`prevented`), and `load` or `visible` elements whose script can not be loaded (`presence`). Does nothing if
 * every key has attributes off.
 *
 * @param warn Called a little after it happened.
 * @param load `import`.
 */
export function watchTrackedElements(
  page: Window,
  configs: InspectorState['configs'],
  warn: (notice: TrackNotice) => void,
  load: (address: string) => Promise<unknown> = (address) => import(address),
): void {
  const drop = (where: HTMLElement, code: string) => {
    if ([...configs.values()].some(({ attributes = ATTRIBUTES }) => attributes))
      warn({ operation: where.dataset.track, reason: 'invalid', code, where })
  }

  const [first] = configs.values()
  if (first) watchPresence(page, first.base, (where) => drop(where, 'presence'), load)
  whenUsed((element, event, path) => {
    if (find(path, DISABLED)) return drop(element, 'disabled')
    if (event.type === 'submit' && readAround(around(element), 'prevented') !== 'count')
      setTimeout(() => event.defaultPrevented && drop(element, 'prevented'))
    return
  })
}
