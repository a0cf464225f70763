/** One event, whole: when it happened and arrived, whose it is, and its payload as JSON. */
import { $, copy, dot, h, sign } from './dom.js'
import { hueOf } from './hues.js'
import { KINDS } from './kinds.js'
import { span } from './stream.js'

/** @param {{ onClose: () => void, onDevice: (did: string) => void }} told */
export function createInspector({ onClose, onDevice }) {
  const panel = $('#inspector')
  let json = ''
  $('#close').addEventListener('click', onClose)
  $('#copy').addEventListener('click', ({ currentTarget }) => copy(json, currentTarget))
  panel.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') onClose()
  })

  function show(record) {
    json = JSON.stringify(record.payload, null, 2)
    const title = panel.querySelector('h2')
    title.replaceChildren(sign(`k-${record.kind}`, record.kind), KINDS.get(record.kind))
    const lateMs = record.receivedAt - record.at
    const device = h(
      'button',
      {
        type: 'button',
        class: 'text',
        'data-test': 'inspector-device',
        onclick: () => onDevice(record.did),
      },
      'only this device',
    )
    const facts = [
      ['operation', h('code', {}, record.operation)],
      ['event', h('code', {}, record.event)],
      ['happened', exact(record.at)],
      ['arrived', `${exact(record.receivedAt)} ${lateMs > 1500 ? `(${span(lateMs)} later)` : ''}`],
      record.did
        ? [
            'device',
            h('span', { class: 'did' }, dot(hueOf(record.did)), h('code', {}, record.did)),
            device,
          ]
        : ['device', 'none: a server sent it by the REST API'],
      ['id', h('code', {}, record.id)],
      ['position', String(record.seq)],
      ...(record.bot ? [['bot', 'yes, by its user agent']] : []),
    ]
    panel
      .querySelector('dl')
      .replaceChildren(
        ...facts.map(([name, ...value]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...value))),
      )
    $('#shortened').hidden = !record.storedBytes
    $('#shortened').textContent = record.storedBytes ? describeCut(record) : ''
    panel.querySelector('pre').replaceChildren(...paint(json))
    panel.hidden = false
    panel.scrollTop = 0
    document.body.classList.add('inspecting')
    title.focus({ preventScroll: true })
  }

  function hide() {
    panel.hidden = true
    document.body.classList.remove('inspecting')
  }
  return { show, hide }
}

function describeCut({ storedBytes, payload }) {
  const size = `${Math.round(storedBytes / 1000)} kB`
  return Object.keys(payload).length > 0
    ? `Shown shortened: ${size} are stored. Long texts are cut here and end in “…”.`
    : `The payload is too large to be shown: ${size} are stored.`
}

function exact(/** @type {number} */ at) {
  const date = new Date(at)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  const time = date.toLocaleTimeString('en-GB')
  return `${day} ${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Gives keys, texts and numbers of pretty JSON their colours. */
function paint(/** @type {string} */ json) {
  const parts = json.split(/("(?:[^"\\]|\\.)*"(?:\s*:)?|-?\d[\d.eE+-]*|true|false|null)/)
  return parts.map((part, index) => {
    if (index % 2 === 0) return part
    if (part.endsWith(':')) return h('span', { class: 'key' }, part)
    return h('span', { class: part.startsWith('"') ? 'string' : 'number' }, part)
  })
}
