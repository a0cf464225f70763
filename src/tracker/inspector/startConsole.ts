import type { InspectorState } from '../debug.ts'
import type { TrackApi, TrackNotice } from '../global.d.ts'
import {
  codeOf,
  type Explained,
  explain,
  HELD_FOR_CONSENT,
  isElement,
  ownEventName,
  toText,
} from './explain.ts'
import { findMissing, findMisspelled } from './findMissing.ts'

/** The most messages of a page: every card of a product list may have the same mistake. */
const MAX_LINES = 50
/** The most accepted events that are remembered, to describe them if they are dropped later. */
const MAX_REMEMBERED = 500

export type ConsoleOptions = {
  /** The notices so far, oldest first. Default: none. */
  readonly seen?: InspectorState['seen']
  /** Starts to watch for mistakes that the script emits no notice of. Default: does nothing. */
  readonly watch?: (warn: (notice: TrackNotice) => void) => void
  /** Receives the mistakes that only the inspector has found, each once. Default: does nothing. */
  readonly found?: (notice: TrackNotice) => void
  /** A sentence for the first line, such as where the panel is. Default: none. */
  readonly hint?: string
}

/**
 * Prints what was seen and not sent. A message is printed once for the same element, or for pushes of the same content,
 * and again for another element. That events are held is printed once for each HTTP status, and if they wait for consent,
 * once for each operation and element.
 *
 * @param on `track.on`.
 * @param out The console: `info` for the first line, then `warn` with a text and the notice, which can be unfolded there.
 * @returns Stops printing. Does not stop `watch`.
 */
export function startConsole(
  on: TrackApi['on'],
  out: Pick<Console, 'info' | 'warn'>,
  { seen = [], watch, found, hint }: ConsoleOptions = {},
): () => void {
  const printed = new Set<string>()
  const accepted = new Map<string, TrackNotice>()
  const numbers = new WeakMap<Element, number>()
  let elements = 0
  let lines = 0

  /** A name that is equal for the same element, and for pushes of the same content. */
  const nameOf = (where: unknown) => {
    if (!isElement(where)) return toText(where)
    const number = numbers.get(where) ?? ++elements
    numbers.set(where, number)
    return number
  }

  /** @returns Whether the message is new. */
  const warn = (notice: Explained): boolean => {
    const { operation, reason, error, status, message, where } = notice
    const code = codeOf(notice)
    const fields = error?.issues.map(({ path }) => path)
    const name = `${[operation, ownEventName(notice), code ?? reason, status, code && message, fields, nameOf(where)]}`
    if (printed.has(name) || lines > MAX_LINES) return false
    printed.add(name)
    if (++lines > MAX_LINES) out.warn('track: and more. No more lines are printed on this page.')
    else out.warn(explain(notice), notice)
    return true
  }
  const warnOwn = (notice: TrackNotice) => {
    if (warn(notice)) found?.(notice)
  }

  /** An attribute that selects no form field, or is misspelled, is not visible in the payload, because a default may replace its value. */
  const warnOfMissing = ({ operation, where, reason }: TrackNotice) => {
    if (!isElement(where)) return
    for (const message of findMissing(where))
      warnOwn({ operation, reason, code: 'from', where, message })
    for (const message of findMisspelled(where))
      warnOwn({ operation, reason, code: 'attribute', where, message })
  }

  const print: { readonly [K in 'accepted' | 'dropped' | 'held']: (notice: TrackNotice) => void } =
    {
      accepted(notice) {
        warnOfMissing(notice)
        const { id = '' } = notice
        accepted.set(id, notice)
        if (accepted.size > MAX_REMEMBERED) accepted.delete([...accepted.keys()][0] ?? '')
      },
      dropped(notice) {
        if (notice.reason === 'invalid') warnOfMissing(notice)
        const isOnItsWay = !('payload' in notice) && notice.id
        warn(isOnItsWay ? { ...accepted.get(notice.id ?? ''), ...notice } : notice)
      },
      held({ id = '', key, status, reason }) {
        const { operation, payload, where } = accepted.get(id) ?? {}
        if (!reason) warn({ key, status, reason: 'held' })
        else warn({ operation, payload, where, key, code: HELD_FOR_CONSENT, reason: 'held' })
      },
    }
  const kinds = ['accepted', 'dropped', 'held'] as const
  const stops = kinds.map((kind) => on(kind, print[kind]))
  out.info(
    ['track: debug mode. This console lists what is seen on the page and not sent.', hint]
      .filter(Boolean)
      .join(' '),
  )
  for (const [kind, notice] of seen) for (const own of kinds) if (own === kind) print[own](notice)
  watch?.(warnOwn)
  return () => {
    for (const stop of stops) stop()
  }
}
