/** The side: totals, last minute, funnel, kinds, devices with their trails. */
import { $, dot, h, sign, svg } from './dom.js'
import { hueOf } from './hues.js'
import { cut, FUNNEL, KINDS, nameOf, shortDid } from './kinds.js'

const BARS = 30
const MAX_DEVICES = 12
/** Devices in the list while it is pointed at: then none is taken out of it. */
const MAX_LISTED = 50

/**
 * @param {ReturnType<import('./model.js').createModel>} model
 * @param {{ onKind: (kind: string) => void, onDevice: (did: string) => void }} told
 */
export function createSummary(model, { onKind, onDevice }) {
  const kinds = new Map([...KINDS].map(([kind, name]) => [kind, createKind(kind, name)]))
  const steps = FUNNEL.map(createStep)
  const bars = Array.from({ length: BARS }, (_, index) => createBar(index))
  /** @type {Map<string, {element: HTMLElement, draw: Function}>} */
  let devices = new Map()
  $('#kinds').replaceChildren(...[...kinds.values()].map(({ element }) => element))
  $('#funnel').replaceChildren(...steps.map(({ element }) => element))
  $('#pulse').replaceChildren(...bars)

  function createKind(kind, name) {
    const count = h('output', {}, '0')
    const button = h(
      'button',
      {
        type: 'button',
        'aria-pressed': 'false',
        'data-test': `kind-${kind}`,
        onclick: () => onKind(kind),
      },
      sign(`k-${kind}`, kind),
      h('span', {}, name),
      count,
    )
    return { element: h('li', {}, button), button, count }
  }

  function createStep({ kind, name }) {
    const share = h('b')
    const detail = h('small')
    const bar = h('i', { 'data-kind': kind })
    const element = h(
      'li',
      { 'data-test': `funnel-${kind}` },
      h('span', {}, name),
      h('div', { class: 'track' }, bar),
      share,
      detail,
    )
    return { element, share, detail, bar }
  }

  function createBar(index) {
    const slot = 120 / BARS
    return svg('rect', { x: String(index * slot + 0.5), width: String(slot - 1) })
  }

  function drawMinute() {
    const { count, slots } = model.lastMinute(BARS)
    const most = Math.max(4, ...slots)
    set($('#minute'), count)
    slots.forEach((value, index) => {
      const height = value ? Math.max(2, (value / most) * 24) : 1
      bars[index].setAttribute('height', String(height))
      bars[index].setAttribute('y', String(24 - height))
    })
  }

  function drawFunnel() {
    const rows = model.funnel()
    const most = Math.max(1, ...rows.map(({ devices: count }) => count))
    rows.forEach(({ events, devices: count, isMore, share }, index) => {
      const { share: percent, detail, bar } = steps[index]
      percent.textContent = share === null ? '–' : `${Math.round(share * 100)} %`
      detail.textContent = `${number(count)}${isMore ? '+' : ''} ${nameOf(count, 'device')} · ${number(events)} ${nameOf(events, 'event')}`
      bar.style.width = `${(count / most) * 100}%`
    })
  }

  function drawDevices(chosen) {
    const shown = new Map()
    for (const device of model.devices(MAX_DEVICES)) {
      const { did } = device
      const known = devices.get(did) ?? createDevice(did)
      known.draw(device, did === chosen)
      shown.set(did, known)
    }
    devices = shown
    const wanted = [...shown.values()].map(({ element }) => element)
    // Moving a button takes its focus away, so nothing moves while one is focused or pointed at.
    const list = $('#devices')
    const busy = list.matches(':focus-within, :hover')
    if (!busy) list.replaceChildren(...wanted)
    else
      for (const element of wanted)
        if (!element.parentNode && list.childElementCount < MAX_LISTED) list.append(element)
  }

  function createDevice(did) {
    const trail = h('span', { class: 'trail', 'aria-hidden': 'true' })
    const count = h('output')
    const button = h(
      'button',
      {
        type: 'button',
        title: cut(did),
        'data-test': 'device',
        'data-did': did,
        onclick: () => onDevice(did),
      },
      dot(hueOf(did)),
      h('code', {}, shortDid(did)),
      trail,
      count,
    )
    let drawn = -1
    const draw = (device, pressed) => {
      button.setAttribute('aria-pressed', String(pressed))
      if (drawn === device.count) return
      drawn = device.count
      count.textContent = number(device.count)
      trail.replaceChildren(...device.trail.map((kind) => h('i', { 'data-kind': kind })))
    }
    return { element: h('li', {}, button), draw }
  }

  /** @param {{ kinds: Set<string>, did: string }} filter */
  function draw(filter) {
    set($('#total'), model.total())
    const { count: deviceTotal, isMore } = model.deviceTotal()
    set($('#device-total'), deviceTotal, isMore ? '+' : '')
    $('#total-name').textContent = nameOf(model.total(), 'event')
    $('#device-name').textContent = nameOf(deviceTotal, 'device')
    for (const [kind, { element, button, count }] of kinds) {
      const seen = model.count(kind)
      count.textContent = number(seen)
      element.classList.toggle('none', seen === 0)
      button.setAttribute('aria-pressed', String(filter.kinds.has(kind)))
    }
    $('#all-kinds').hidden = filter.kinds.size === 0
    $('#all-devices').hidden = !filter.did
    drawFunnel()
    drawDevices(filter.did)
    drawMinute()
  }

  return { draw, drawMinute }
}

const number = (/** @type {number} */ value) => value.toLocaleString('en-US')

function set(element, value, more = '') {
  const text = number(value) + more
  if (element.textContent !== text) element.textContent = text
}
