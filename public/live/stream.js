/** The list of events: newest first, at most MAX_ROWS rows, one Tab stop, arrows inside. */
import { $, dot, h, sign } from './dom.js'
import { hueOf } from './hues.js'
import { cut, KINDS, shortDid, subjectOf } from './kinds.js'
import { MAX_ROWS } from './model.js'

/** A difference between happening and arriving worth showing, ms. */
const LATE_MS = 5000

/**
 * @param {{ onChoose: (id: string) => void, onDevice: (did: string) => void }} told
 */
export function createStream({ onChoose, onDevice }) {
  const list = $('#stream')
  let chosen = ''

  list.addEventListener('click', ({ target }) => {
    const row = target.closest('li')
    if (!row) return
    if (target.closest('button.device')) onDevice(row.dataset.did)
    else onChoose(row.dataset.id)
  })
  list.addEventListener('keydown', (event) => {
    // With one of these a key is the browser's.
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const row = event.target.closest?.('li')
    if (!row) return
    const next = {
      ArrowDown: row.nextElementSibling,
      ArrowUp: row.previousElementSibling,
      Home: list.firstElementChild,
      End: list.lastElementChild,
    }[event.key]
    if (!next) return
    event.preventDefault()
    focusRow(next)
  })
  list.addEventListener('focusin', ({ target }) => {
    const open = target.closest?.('li')?.querySelector('.open')
    if (open) setTabStop(open)
  })

  function setTabStop(open) {
    for (const other of list.querySelectorAll('.open[tabindex="0"]')) other.tabIndex = -1
    open.tabIndex = 0
  }
  function focusRow(row) {
    const open = row.querySelector('.open')
    setTabStop(open)
    open.focus()
  }
  function keepTabStop() {
    if (list.querySelector('.open[tabindex="0"]')) return
    const first = list.querySelector('.open')
    if (first) first.tabIndex = 0
  }

  /** Puts new records (oldest first) on top and lets the oldest rows go. */
  function add(records, fresh) {
    const rows = records
      .slice(-MAX_ROWS)
      .reverse()
      .map((record) => buildRow(record, fresh))
    const top = list.scrollTop
    const before = list.scrollHeight
    list.prepend(...rows)
    while (list.childElementCount > MAX_ROWS) list.lastElementChild.remove()
    // Who has scrolled down to read keeps what is being read in place.
    if (top > 0) list.scrollTop = top + list.scrollHeight - before
    keepTabStop()
  }

  function replace(records) {
    list.replaceChildren(...records.map((record) => buildRow(record, false)))
    list.scrollTop = 0
    keepTabStop()
  }

  function buildRow(record, fresh) {
    const { main, more } = subjectOf(record)
    const lateMs = record.receivedAt - record.at
    const name = KINDS.get(record.kind)
    const time = clock(record.at)
    const device = record.did
      ? h(
          'button',
          {
            class: 'device',
            type: 'button',
            tabindex: '-1',
            title: `Only device ${cut(record.did)}`,
            'data-test': 'row-device',
          },
          dot(hueOf(record.did)),
          shortDid(record.did),
        )
      : h('span', { class: 'device none', title: 'Sent by a server, so of no device' }, 'server')
    return h(
      'li',
      {
        'data-id': record.id,
        'data-did': record.did ?? undefined,
        'data-operation': record.operation,
        'data-test': 'row',
        class: [fresh && 'fresh', record.id === chosen && 'chosen'].filter(Boolean).join(' '),
      },
      h(
        'button',
        {
          class: 'open',
          type: 'button',
          tabindex: '-1',
        },
        h(
          'time',
          { datetime: new Date(record.at).toISOString() },
          time,
          ...(lateMs > LATE_MS
            ? [h('small', { title: 'How much later it arrived' }, `+${span(lateMs)}`)]
            : []),
        ),
        h('span', { class: 'kind' }, sign(`k-${record.kind}`, record.kind), h('b', {}, name)),
        h(
          'span',
          { class: 'what' },
          ...(main ? [h('b', {}, main)] : []),
          ...(more ? [h('span', {}, more)] : []),
          ...(record.storedBytes
            ? [h('em', { title: 'Its payload is large, and shown shortened' }, 'cut')]
            : []),
          ...(record.bot ? [h('em', { title: 'Its user agent says it is a bot' }, 'bot')] : []),
        ),
      ),
      device,
      h('span', { class: 'path', title: cut(String(record.payload.url ?? '')) }, record.path),
    )
  }

  /** Marks the chosen row; '' marks none. */
  function choose(id) {
    list.querySelector('.chosen')?.classList.remove('chosen')
    chosen = id
    find(id)?.classList.add('chosen')
  }
  const find = (id) => [...list.children].find((row) => row.dataset.id === id)

  return {
    add,
    replace,
    choose,
    /** Focus goes back to the row it came from, or to the list where that row has gone. */
    focus: (id) => {
      const row = find(id)
      if (row) focusRow(row)
      else list.focus()
    },
  }
}

/** Today `14:03:22`, else `26 Nov 14:03`, in the viewer's own zone. */
function clock(/** @type {number} */ at) {
  const date = new Date(at)
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0')
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (date.toDateString() === new Date().toDateString()) return `${time}:${two(date.getSeconds())}`
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`
}

/** `45 s`, `12 m`, `3 h`, `2 d`. */
export function span(/** @type {number} */ ms) {
  const seconds = Math.round(ms / 1000)
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} m`
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`
}
