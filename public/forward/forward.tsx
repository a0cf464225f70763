/**
 * The forwarding page: the destinations of a customer, and the events that they have refused, to mend and send again.
 * The destination whose dead letters are shown is in the fragment of the address.
 */
import { render } from 'preact'
import { Frame } from '../operator/frame.tsx'
import { type Customer, createOperator } from '../operator/operator.ts'
import { type Answered, describeRefusal, endOf, type Refused } from '../operator/requests.ts'
import { createVisibleTimer } from '../operator/visibleTimer.ts'
import { type Destination, loadDestinations, setPaused } from './data.ts'
import { Destinations, nameOfDestination } from './destinations.tsx'
import { LetterPanel } from './letterPanel.tsx'
import { createLetters } from './letterState.ts'

/** How often the destinations are loaded again. */
const RELOAD_MS = 3_000

const root = document.querySelector('#page') as HTMLElement
const operator = createOperator({ title: 'forwarding', draw, onWatch: watch, onLeave: leave })
const timer = createVisibleTimer()
const letters = createLetters({ run, read, draw, onChange: reload })

let watched: Customer | undefined
let destinations: readonly Destination[] | undefined
let isBusy = false
/** Why the last action failed. */
let trouble = ''
/** Why what is shown is not up to date. */
let staleReason = ''
let notice = ''
/** Number of the customer's visit: answers for earlier ones are dropped. */
let visit = 0

draw()
operator.start()
addEventListener('hashchange', () => {
  choose(location.hash.slice(1))
})

function watch(customer: Customer) {
  forget()
  watched = customer
  operator.setState('')
  reload()
}

function leave() {
  forget()
  watched = undefined
}

function forget() {
  visit++
  timer.stop()
  destinations = undefined
  isBusy = false
  trouble = ''
  staleReason = ''
  notice = ''
  letters.close()
}

/** Loads the destinations, and the letters that are shown if they may have changed. */
async function reload() {
  const mine = visit
  const body = await read(loadDestinations)
  if (mine !== visit) return
  timer.set(reload, RELOAD_MS)
  if (body) {
    const isFirst = destinations === undefined
    destinations = body.data
    if (isFirst) choose(location.hash.slice(1))
    letters.follow(destinations)
  }
  draw()
}

/** Reads for the watched customer, beside what the operator does. Undefined if that failed, or for an earlier visit. */
async function read<T>(load: (customerId: string) => Promise<Answered<T>>): Promise<T | undefined> {
  if (!watched) return undefined
  const mine = visit
  const answer = await load(watched.customerId)
  if (mine !== visit) return undefined
  operator.setState(answer.status === 0 ? 'unreachable' : '')
  staleReason = answer.ok || answer.status === 0 ? '' : describeRefusal(answer)
  if (answer.ok) return answer.body
  const reason = endOf(answer.status)
  if (reason && watched) operator.showEnd(watched, reason)
  else draw()
  return undefined
}

/** Runs one request for the watched customer, and drops its answer if the customer has changed meanwhile. */
async function run(
  act: (customerId: string) => Promise<{ readonly ok: true } | Refused>,
  done = '',
): Promise<boolean> {
  if (!watched || isBusy) return false
  const mine = visit
  isBusy = true
  trouble = ''
  notice = ''
  draw()
  const answer = await act(watched.customerId)
  if (mine !== visit) return false
  isBusy = false
  if (answer.ok) notice = done
  else fail(answer)
  draw()
  return answer.ok
}

function fail(answer: Refused) {
  const reason = endOf(answer.status)
  if (reason && watched) return void operator.showEnd(watched, reason)
  trouble =
    answer.status === 0
      ? 'The gateway does not answer, or broke off. Try again.'
      : describeRefusal(answer)
}

function choose(id: string) {
  const isKnown = destinations?.some((destination) => destination.id === id)
  const { pathname, search } = location
  history.replaceState(null, '', `${pathname}${search}${isKnown ? `#${id}` : ''}`)
  if (isKnown) letters.open(id)
  else letters.close()
  draw()
}

const pause = async (destination: Destination, isPaused: boolean) => {
  const name = nameOfDestination(destination)
  const done = isPaused
    ? `${name} is paused. Its events wait in the log, for as long as the log keeps them.`
    : `${name} goes on where it was.`
  if (await run((customer) => setPaused(customer, destination.id, isPaused), done)) reload()
}

function draw() {
  render(<Page />, root)
}

function Page() {
  const { destination: chosen } = letters.view
  const shown = destinations?.find(({ id }) => id === chosen)
  return (
    <Frame page="forward" operator={operator} skip={{ id: 'view', text: 'To the destinations' }}>
      <main id="view" class="sheet" hidden={!operator.view.isViewShown}>
        <div class="head">
          <h2>Forwarding</h2>
          <p class="hint">Where the events of this customer are sent on to.</p>
        </div>
        <p class="notice" role="status" hidden={!notice} data-test="notice">
          {notice}
        </p>
        <p class="trouble" role="alert" hidden={!trouble && !staleReason} data-test="trouble">
          {trouble || staleReason}
        </p>
        {destinations && watched && (
          <Destinations
            destinations={destinations}
            customer={watched.customerId}
            chosen={chosen}
            isBusy={isBusy}
            onChoose={choose}
            onPause={pause}
          />
        )}
        {shown && (
          <LetterPanel key={chosen} destination={shown} letters={letters} isBusy={isBusy} />
        )}
      </main>
    </Frame>
  )
}
