/**
 * The campaigns page: a list, a form for a new one, and a campaign with its report. Which of them is
 * shown is in the address, so that links, reloads and the back button work.
 */
import { $ } from '/live/dom.js'
import { createOperator, showState } from '/live/operator.js'
import { endOf } from './data.js'
import { createForm } from './form.js'
import { createList } from './list.js'
import { readPlace, writePlace } from './model.js'
import { createReport } from './report.js'

const operator = createOperator('campaigns', {
  onWatch: watch,
  onLeave: leave,
  onSignOut: () => views.new.forget(),
})
/** @type {import('/live/operator.js').Customer} */
let watched
/** Ends what the view that is shown waits for. */
let stop = () => {}

const page = {
  /** The address of a place of the customer watched. */
  href: (place) => writePlace(watched.customerId, place),
  /** Says in the address where a view has gone by itself: a new entry of the history, or in place of the last. */
  go(place, replace = false) {
    history[replace ? 'replaceState' : 'pushState'](null, '', page.href(place))
  },
  /** Shows another view. */
  open(place) {
    history.pushState(null, '', page.href(place))
    show(true)
  },
  /**
   * True where an answer says that the customer it was asked for may not be looked at any more; then the
   * form to sign in is shown, if it is still the one watched.
   */
  ends(status, customer) {
    const reason = endOf(status)
    if (reason && watched?.customerId === customer.customerId) operator.showEnd(watched, reason)
    return reason !== ''
  },
  /** Tells what came of something whose view has been left since, while its customer is watched; gone with the next view. */
  tell(customer, text) {
    if (watched?.customerId !== customer.customerId) return
    $('#notice').textContent = text
    $('#notice').hidden = false
    if (readPlace(location.search).view === 'list') views.list.reload()
  },
}

const views = {
  list: createList($('#list'), page),
  new: createForm($('#new'), page),
  campaign: createReport($('#campaign'), page),
}

addEventListener('popstate', () => {
  const wanted = new URLSearchParams(location.search).get('customer')
  const isOther = wanted && wanted !== watched?.customerId
  // Whom the operator may not see, or not yet: the form to sign in, or whoever it turns out to be.
  if (!watched || $('#view').hidden || (isOther && !operator.choose(wanted))) operator.start()
  else if (!isOther) show(false)
})
// Plain clicks on links within the page; others open a tab, as everywhere.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-place]')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  history.pushState(null, '', link.href)
  show(true)
})
operator.start()

function watch(customer) {
  watched = customer
  show(false)
}

function leave() {
  stop()
  watched = undefined
}

/** @param {boolean} moved Whether the operator went there by a click: then the focus goes along. */
function show(moved) {
  stop()
  const place = readPlace(location.search)
  for (const [name, { element }] of Object.entries(views)) element.hidden = name !== place.view
  showState('')
  $('#notice').hidden = true
  stop = views[place.view].show(watched, place)
  if (!moved) return
  scrollTo(0, 0)
  views[place.view].element.querySelector('h2')?.focus({ preventScroll: true })
}
