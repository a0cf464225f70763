/** The list of events: newest first, at most MAX_ROWS rows. It is one Tab stop; arrow keys move between rows. */
import { Component, type RefObject, type TargetedKeyboardEvent } from 'preact'
import { KINDS } from '../operator/kinds.ts'
import { Sign } from '../operator/signs.tsx'
import { clock, span } from '../operator/time.ts'
import { Dot } from './dot.tsx'
import { cut, hasNoConsent, shortDid, subjectOf } from './kinds.ts'
import type { Shown } from './model.ts'

/** From this delay on, a row shows how much later the event arrived. */
const LATE_MS = 5000

type Props = {
  /** Set to the list's element. */
  readonly list: RefObject<HTMLOListElement | null>
  /** Newest first. */
  readonly records: readonly Shown[]
  /** Records whose rows flash when they arrive. */
  readonly fresh: WeakSet<Shown>
  /** Id of the record in the inspector; '' for none. */
  readonly chosen: string
  /** Changes when a filter has replaced the rows: then the list scrolls to its top. */
  readonly version: number
  readonly onChoose: (id: string) => void
  readonly onDevice: (did: string) => void
}

/** Focuses the row of a record, or the list if that row is gone. */
export function focusRecord(list: HTMLOListElement, id: string): void {
  const row = list.querySelector(`li[data-id="${CSS.escape(id)}"]`)
  if (row) focusRow(row)
  else list.focus()
}

export class Stream extends Component<Props> {
  override getSnapshotBeforeUpdate(before: Props) {
    // Reading these values forces a layout, so they are read only if the rows have changed.
    if (before.records === this.props.records) return { scrollTop: 0, scrollHeight: 0 }
    const { scrollTop = 0, scrollHeight = 0 } = this.props.list.current ?? {}
    return { scrollTop, scrollHeight }
  }

  override componentDidUpdate(
    before: Props,
    _: unknown,
    { scrollTop, scrollHeight }: ReturnType<Stream['getSnapshotBeforeUpdate']>,
  ) {
    const list = this.props.list.current
    if (!list || before.records === this.props.records) return
    if (before.version !== this.props.version) list.scrollTop = 0
    // The visible rows stay in place when others arrive above them.
    else if (scrollTop > 0) list.scrollTop = scrollTop + list.scrollHeight - scrollHeight
    if (list.querySelector(TAB_STOP)) return
    const first = list.querySelector<HTMLElement>('.open')
    if (first) first.tabIndex = 0
  }

  render({ list, records, fresh, chosen, onChoose, onDevice }: Props) {
    return (
      <ol
        id="stream"
        ref={list}
        tabIndex={-1}
        aria-label="Events, newest first"
        data-test="stream"
        onClick={({ target }) => {
          const row = closest(target, 'li')
          if (row?.dataset.id === undefined) return
          if (closest(target, 'button.device')) onDevice(row.dataset.did ?? '')
          else onChoose(row.dataset.id)
        }}
        onKeyDown={moveByKey}
        onFocusIn={({ target }) => {
          const open = closest(target, 'li')?.querySelector<HTMLElement>('.open')
          if (open) setTabStop(open)
        }}
      >
        {records.map((record) => (
          <Row
            key={record.id}
            record={record}
            isFresh={fresh.has(record)}
            isChosen={record.id === chosen}
          />
        ))}
      </ol>
    )
  }
}

const TAB_STOP = '.open[tabindex="0"]'

/** Moves the Tab stop to a row. Not part of the rendered state, so updates do not change it. */
function setTabStop(open: HTMLElement) {
  const stops = open.closest('ol')?.querySelectorAll<HTMLElement>(TAB_STOP) ?? []
  for (const other of stops) other.tabIndex = -1
  open.tabIndex = 0
}

function focusRow(row: Element) {
  const open = row.querySelector<HTMLElement>('.open')
  if (!open) return
  setTabStop(open)
  open.focus()
}

function moveByKey(event: TargetedKeyboardEvent<HTMLOListElement>) {
  // With a modifier, the keys are shortcuts of the browser.
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
  const row = closest(event.target, 'li')
  if (!row) return
  const next = {
    ArrowDown: row.nextElementSibling,
    ArrowUp: row.previousElementSibling,
    Home: event.currentTarget.firstElementChild,
    End: event.currentTarget.lastElementChild,
  }[event.key]
  if (!next) return
  event.preventDefault()
  focusRow(next)
}

const closest = (target: EventTarget | null, selector: string): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>(selector) : null

type RowProps = { readonly record: Shown; readonly isFresh: boolean; readonly isChosen: boolean }

class Row extends Component<RowProps> {
  /** A record never changes, so the existing rows are not rendered again when others arrive. */
  override shouldComponentUpdate({ record, isFresh, isChosen }: RowProps): boolean {
    const { props } = this
    return record !== props.record || isFresh !== props.isFresh || isChosen !== props.isChosen
  }

  render({ record, isFresh, isChosen }: RowProps) {
    const { id, did, kind, operation, at, receivedAt, payload, path, storedBytes, bot } = record
    const { main, amount, more } = subjectOf(record)
    const lateMs = receivedAt - at
    return (
      <li
        class={[isFresh && 'fresh', isChosen && 'chosen'].filter(Boolean).join(' ')}
        data-id={id}
        data-did={did ?? undefined}
        data-operation={operation}
        data-test="row"
      >
        <button class="open" type="button" tabIndex={-1}>
          <time dateTime={new Date(at).toISOString()}>
            {clock(at)}
            {lateMs > LATE_MS && <small title="How much later it arrived">+{span(lateMs)}</small>}
          </time>
          <span class="kind">
            <Sign name={kind} kind={kind} />
            <b>{KINDS.get(kind)}</b>
          </span>
          <span class="what">
            {main && <b>{main}</b>}
            {amount && <b class="amount">{amount}</b>}
            {more && <span>{more}</span>}
            {storedBytes && <em title="The payload is large and shown shortened">cut</em>}
            {bot && <em title="Its user agent says it is a bot">bot</em>}
            {hasNoConsent(record) && (
              <em title="The visitor has not consented, so its device id is valid for one day">
                no consent
              </em>
            )}
          </span>
        </button>
        {did ? (
          <button
            class="device"
            type="button"
            tabIndex={-1}
            title={`Only device ${cut(did)}`}
            data-test="row-device"
          >
            <Dot did={did} />
            {shortDid(did)}
          </button>
        ) : (
          <span class="device none" title="Sent by a server, so it has no device">
            server
          </span>
        )}
        <span class="path" title={cut(String(payload.url ?? ''))}>
          {path}
        </span>
      </li>
    )
  }
}
