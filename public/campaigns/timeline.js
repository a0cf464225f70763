/** Visitors, carts and checkouts day by day: two scales over one row of days, and the same as a table. */
import { h, svg } from '/live/dom.js'
import { counted, number, showDay, showMoment } from './model.js'
import { drawToFit, picture } from './picture.js'
import { labelled, scaleOf, spreadDays } from './scale.js'

/** What happened day by day: field of a report's day, what one is called, kind (its colour). */
const SERIES = [
  { field: 'visitors', one: 'visitor', name: 'Visitors', kind: 'viewHomepage' },
  { field: 'add_to_cart', one: 'cart', name: 'Added to cart', kind: 'addToCart' },
  { field: 'initiate_checkout', one: 'checkout', name: 'Checkouts', kind: 'initiateCheckout' },
]
/** Below this there is no room for columns and the day's values become a line of steps, px. */
const NARROWEST_SLOT = 6
/** px. */
const PANEL_HEIGHT = 94
const HEIGHT = 292

export function createTimeline() {
  const tip = h('div', { class: 'tip', role: 'status', hidden: '', 'data-test': 'tip' })
  const canvas = h('div', { class: 'picture' })
  const element = h(
    'div',
    {
      class: 'timeline',
      tabindex: '0',
      role: 'group',
      'aria-label': 'Day by day. Left and right go from day to day.',
      onkeydown: step,
      onpointermove: point,
      onpointerleave: () => choose(-1),
      onblur: () => choose(-1),
      'data-test': 'timeline',
    },
    canvas,
    tip,
  )
  let days = []
  let chosen = -1
  const place = { left: 0, slot: 1 }
  const redraw = drawToFit(canvas, draw)

  function draw(width) {
    const left =
      8 +
      8 *
        number(Math.max(9, ...days.flatMap((day) => SERIES.map(({ field }) => day[field])))).length
    Object.assign(place, { left, slot: (width - left - 4) / Math.max(1, days.length) })
    const labels = svg('g', { class: 'dates' })
    const panels = [
      panel(width, 28, 'Visitors', SERIES.slice(0, 1)),
      panel(width, 168, 'Carts and checkouts', SERIES.slice(1)),
    ]
    for (const index of labelled(days.length, place.slot, 56)) {
      // The last one would stand over the edge where days are narrow.
      const isLast = index === days.length - 1 && place.slot < 40
      labels.append(
        svg(
          'text',
          {
            x: isLast ? width : middle(index),
            y: HEIGHT - 8,
            'text-anchor': isLast ? 'end' : 'middle',
          },
          showDay(days[index].date),
        ),
      )
    }
    const cursor = svg('rect', {
      class: 'cursor',
      y: 28,
      width: place.slot,
      height: 140 + PANEL_HEIGHT,
      hidden: '',
    })
    const said = SERIES.map(({ field, name }) => `${name} ${number(sumOf(field))}`).join(', ')
    canvas.replaceChildren(
      picture(
        'timeline',
        width,
        HEIGHT,
        'Visitors, carts and checkouts by day',
        `${said}. The table below has every day.`,
        cursor,
        ...panels,
        labels,
      ),
    )
    choose(chosen)
  }

  const sumOf = (field) => days.reduce((sum, day) => sum + day[field], 0)
  const middle = (index) => place.left + (index + 0.5) * place.slot

  function panel(width, top, name, series) {
    const { top: most, ticks } = scaleOf(
      Math.max(...series.flatMap(({ field }) => days.map((day) => day[field]))),
    )
    const y = (count) => top + PANEL_HEIGHT - (count / most) * PANEL_HEIGHT
    const group = svg('g', {}, svg('text', { class: 'panel', x: place.left, y: top - 9 }, name))
    for (const tick of ticks)
      group.append(
        svg('path', {
          class: tick ? 'grid' : 'grid zero',
          d: `M${place.left} ${y(tick)}H${width}`,
        }),
        svg(
          'text',
          { class: 'tick', x: place.left - 8, y: y(tick) + 4, 'text-anchor': 'end' },
          number(tick),
        ),
      )
    const { slot } = place
    const bar = Math.min(series.length > 1 ? 18 : 34, (slot * 0.66) / series.length)
    series.forEach(({ field, kind }, position) => {
      const from = (index) => middle(index) + (position - series.length / 2) * (bar + 2) + 1
      group.append(
        slot < NARROWEST_SLOT ? line(field, kind, y) : columns(field, kind, y, bar, from),
      )
    })
    return group
  }

  function columns(field, kind, y, bar, from) {
    const group = svg('g', { 'data-kind': kind })
    days.forEach((day, index) => {
      if (!day[field]) return
      const tall = Math.max(2, y(0) - y(day[field]))
      group.append(
        svg('rect', {
          class: 'column',
          x: from(index),
          y: y(0) - tall,
          width: bar,
          height: tall,
          rx: Math.min(2.5, bar / 3),
        }),
      )
    })
    return group
  }

  function line(field, kind, y) {
    const path = days.map(
      (day, index) =>
        `${index ? 'V' : `M${place.left} `}${y(day[field])}H${place.left + (index + 1) * place.slot}`,
    )
    return svg('path', { class: 'line', 'data-kind': kind, d: path.join('') })
  }

  function step(event) {
    // Alt and left is the browser's way back, and so on.
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    const next = {
      ArrowLeft: (chosen < 0 ? days.length : chosen) - 1,
      ArrowRight: chosen + 1,
      Home: 0,
      End: days.length - 1,
      Escape: -1,
    }[event.key]
    if (next === undefined) return
    event.preventDefault()
    choose(Math.min(days.length - 1, next))
  }

  function point({ clientX }) {
    const index = Math.floor(
      (clientX - canvas.getBoundingClientRect().left - place.left) / place.slot,
    )
    choose(index >= 0 && index < days.length ? index : -1)
  }

  /** Shows a day's numbers; -1 shows none. */
  function choose(index) {
    chosen = index
    const day = days[index]
    const cursor = canvas.querySelector('.cursor')
    tip.hidden = !day
    if (!cursor) return
    cursor.toggleAttribute('hidden', !day)
    if (!day) return
    cursor.setAttribute('x', String(place.left + index * place.slot))
    tip.replaceChildren(
      h('b', {}, showMoment(day.date)),
      ...SERIES.map(({ field, one, kind }) =>
        h('span', { 'data-kind': kind }, h('i'), h('em', {}, counted(day[field], one))),
      ),
    )
    // Beside the day, on the side that has room.
    const right = middle(index) + place.slot / 2 + 6
    const left = middle(index) - place.slot / 2 - 6 - tip.offsetWidth
    const fits = right + tip.offsetWidth <= canvas.clientWidth
    tip.style.left = `${fits ? right : Math.max(0, left)}px`
  }

  return {
    element,
    draw(report) {
      days = spreadDays(report.days)
      chosen = Math.min(chosen, days.length - 1)
      redraw()
    },
  }
}

/** What the colours of the days mean. */
export const legend = () =>
  h(
    'ul',
    { class: 'legend' },
    ...SERIES.map(({ name, kind }) => h('li', { 'data-kind': kind }, h('i'), h('span', {}, name))),
  )

/** The same days as a table, newest first. */
export function tableOf({ days }) {
  const cell = (tag, ...inside) => h(tag, tag === 'th' ? { scope: 'col' } : {}, ...inside)
  return h(
    'table',
    {},
    h(
      'thead',
      {},
      h('tr', {}, cell('th', 'Day (UTC)'), ...SERIES.map(({ name }) => cell('th', name))),
    ),
    h(
      'tbody',
      {},
      ...days
        .toReversed()
        .map((day) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, showMoment(day.date)),
            ...SERIES.map(({ field }) => cell('td', number(day[field]))),
          ),
        ),
    ),
  )
}
