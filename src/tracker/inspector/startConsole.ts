import type { TrackApi, TrackNotice } from '../global.d.ts'
import { codeOf, type Explained, explain, inWords, isElement } from './explain.ts'
import { findMissing } from './findMissing.ts'

/** Printed at most so often a page: a shop's list may hold the same mistake in every card. */
const MAX_LINES = 50
/** Events whose notice is remembered, for what becomes of them later. */
const MAX_REMEMBERED = 500

/**
 * Prints each thing that was seen and not sent. The same thing at the same element, or in a push that
 * says the same, is told once; the same mistake at another element is another one. That events wait is told
 * once for each status that was answered.
 *
 * @param on Adds a listener, and answers its undo: `track.on`.
 * @param out Where to print: `warn` with the text, and with it the notice, so that it can be unfolded;
 * `info` with a first line, since what came before it is not told.
 * @param watch Starts a watch of the inspector's own, which tells what the script passes over. Default none.
 * @returns Stops it.
 */
export function startConsole(
  on: TrackApi['on'],
  out: Pick<Console, 'info' | 'warn'>,
  watch?: (tell: (notice: TrackNotice) => void) => void,
): () => void {
  const said = new Set<string>()
  const accepted = new Map<string, TrackNotice>()
  const numbers = new WeakMap<Element, number>()
  let elements = 0
  let lines = 0

  /** The same for the same element, and for pushes that say the same. */
  const nameOf = (where: unknown) => {
    if (!isElement(where)) return inWords(where)
    const number = numbers.get(where) ?? ++elements
    numbers.set(where, number)
    return number
  }

  const warn = (notice: Explained) => {
    const { operation, reason, error, status, message, where } = notice
    const code = codeOf(notice)
    const fields = error?.issues.map(({ path }) => path)
    const name = `${[operation, code ?? reason, status, code && message, fields, nameOf(where)]}`
    if (said.has(name) || lines > MAX_LINES) return
    said.add(name)
    if (++lines > MAX_LINES) out.warn('track: and more. No more lines are printed on this page.')
    else out.warn(explain(notice), notice)
  }

  /** An attribute that names no form field: another value may have stood in, and nothing looks wrong. */
  const warnOfMissing = ({ operation, where }: TrackNotice) => {
    if (!isElement(where)) return
    for (const message of findMissing(where)) warn({ operation, code: 'from', where, message })
  }

  const stopAccepted = on('accepted', (notice) => {
    warnOfMissing(notice)
    const { id = '' } = notice
    accepted.set(id, notice)
    if (accepted.size > MAX_REMEMBERED) accepted.delete([...accepted.keys()][0] ?? '')
  })
  const stopDropped = on('dropped', (notice) => {
    if (notice.reason === 'invalid') warnOfMissing(notice)
    const isOnItsWay = !notice.operation && notice.id
    warn(isOnItsWay ? { ...accepted.get(notice.id ?? ''), ...notice } : notice)
  })
  watch?.(warn)
  const stopHeld = on('held', ({ key, status }) => warn({ key, status, reason: 'held' }))
  out.info(
    'track: debug mode. From now on this console lists what is seen on the page and not sent. What came before this line is not listed.',
  )
  return () => {
    stopAccepted()
    stopDropped()
    stopHeld()
  }
}
