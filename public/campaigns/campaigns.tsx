/**
 * The campaigns page: a list, a form for a new campaign, and a campaign with its report. The page's address says which
 * view is shown, so that links, reloads and the back button work.
 */
import { render } from 'preact'
import { Frame } from '../operator/frame.tsx'
import { type Customer, createOperator } from '../operator/operator.ts'
import { endOf } from '../operator/requests.ts'
import { createForm } from './form.tsx'
import { createList } from './list.tsx'
import { LIST, type Place, readPlace, writePlace } from './model.ts'
import type { CampaignsPage } from './page.ts'
import { createReport } from './report.tsx'

const root = document.querySelector('#page') as HTMLElement
const operator = createOperator({
  title: 'campaigns',
  draw,
  onWatch: watch,
  onLeave: leave,
  onSignOut: () => views.new.forget(),
})
let watched: Customer | undefined
let place: Place = LIST
let notice = ''
/** Stops the timers and requests of the current view. */
let stop = () => {}

const page: CampaignsPage = {
  draw,
  setState: operator.setState,
  href: (to) => writePlace(watched?.customerId ?? '', to),
  go(to, replace = false) {
    history[replace ? 'replaceState' : 'pushState'](null, '', page.href(to))
  },
  open(to) {
    page.go(to)
    show(true)
  },
  endIfDenied(status, customer) {
    const reason = endOf(status)
    if (reason && watched?.customerId === customer.customerId) operator.showEnd(watched, reason)
    return reason !== undefined
  },
  notify(customer, text) {
    if (watched?.customerId !== customer.customerId) return
    notice = text
    draw()
    if (place.view === 'list') views.list.reload()
  },
}

const views = { list: createList(page), new: createForm(page), campaign: createReport(page) }

addEventListener('popstate', () => {
  const wanted = new URLSearchParams(location.search).get('customer')
  const isOther = wanted && wanted !== watched?.customerId
  // If the operator may not see this customer, `start` shows the sign-in form or another customer.
  const isLost = !watched || !operator.view.isViewShown || (isOther && !operator.choose(wanted))
  if (isLost) operator.start()
  else if (!isOther) show(false)
})
// Plain clicks on links within the page; others open a tab, as everywhere.
document.addEventListener('click', (event) => {
  const { target } = event
  const link = target instanceof Element && target.closest<HTMLAnchorElement>('a[data-place]')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  history.pushState(null, '', link.href)
  show(true)
})
draw()
operator.start()

function watch(customer: Customer) {
  watched = customer
  show(false)
}

function leave() {
  stop()
  watched = undefined
}

/** @param moved Whether the operator clicked a link: then the focus moves to the new view. */
function show(moved: boolean) {
  if (!watched) return
  stop()
  notice = ''
  page.setState('')
  place = readPlace(location.search)
  stop = showPlace(watched, place)
  draw()
  if (!moved) return
  scrollTo(0, 0)
  root.querySelector<HTMLElement>(`#${place.view} h2`)?.focus({ preventScroll: true })
}

function showPlace(customer: Customer, to: Place): () => void {
  if (to.view === 'list') return views.list.show(customer, to)
  return to.view === 'new' ? views.new.show(customer) : views.campaign.show(customer, to)
}

function draw() {
  render(<Page />, root)
}

function Page() {
  return (
    <Frame page="campaigns" operator={operator} skip={{ id: 'view', text: 'To the campaigns' }}>
      <main id="view" class="sheet" hidden={!operator.view.isViewShown}>
        <p class="notice" role="status" hidden={!notice} data-test="notice">
          {notice}
        </p>
        <section id="list" hidden={place.view !== 'list'} data-test="list">
          <views.list.View />
        </section>
        <section id="new" hidden={place.view !== 'new'} data-test="new">
          <views.new.View />
        </section>
        <section id="campaign" hidden={place.view !== 'campaign'} data-test="campaign">
          <views.campaign.View />
        </section>
      </main>
    </Frame>
  )
}
