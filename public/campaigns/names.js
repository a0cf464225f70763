/** A report's events by name, most first. */
import { h } from '/live/dom.js'
import { counted, kindOfName, namesOf, number, shorten } from './model.js'

/** Names that are shown before all are asked for. */
const FIRST = 12
/** The longest name that is shown whole, in characters. */
const MAX_CHARACTERS = 72

export function createNames() {
  const list = h('ol', { class: 'names', 'data-test': 'event-names' })
  const more = h('button', {
    type: 'button',
    class: 'text more',
    'data-test': 'more-names',
    onclick: showAll,
  })
  let names = []
  let hasAll = false

  function draw() {
    const most = Math.max(1, ...names.map(([, count]) => count))
    const shown = hasAll ? names : names.slice(0, FIRST)
    list.replaceChildren(
      ...shown.map(([name, count]) => {
        const bar = h('i', { 'data-kind': kindOfName(name) })
        bar.style.width = `${(count / most) * 100}%`
        return h(
          'li',
          { 'data-test': 'event-name', 'data-name': name, tabindex: '-1' },
          h('code', { title: name }, shorten(name, MAX_CHARACTERS)),
          h('div', { class: 'track' }, bar),
          h('b', { title: counted(count, 'event') }, number(count)),
        )
      }),
    )
    more.hidden = shown.length === names.length
    more.textContent = `Show ${number(names.length - shown.length)} more`
  }

  function showAll() {
    hasAll = true
    draw()
    // The button has gone: the focus goes to the first that it brought.
    list.children[FIRST].focus()
  }

  return {
    element: h('div', {}, list, more),
    draw({ events }) {
      names = namesOf(events)
      draw()
    },
    /** Another report begins with the first few again. */
    reset() {
      hasAll = false
    },
  }
}
