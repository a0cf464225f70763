/**
 * The live view: events as they arrive, their totals, and each event in full; in views of their own the problems and
 * the coverage. This file keeps the state; `draw` renders it, for arriving events at most once per animation frame.
 */
import { createRef, render } from 'preact'
import { type LiveEvent, startFeed } from '../operator/feed.ts'
import { Frame } from '../operator/frame.tsx'
import { nameOf } from '../operator/numbers.ts'
import {
  type Customer,
  createOperator,
  type EndReason,
  type PageState,
} from '../operator/operator.ts'
import { Sign } from '../operator/signs.tsx'
import { createAnnouncements } from './announcements.tsx'
import { Bar } from './bar.tsx'
import { CoverageList } from './coverage.tsx'
import { FirstSteps, TagDialog, writeTag } from './firstSteps.tsx'
import { Inspector } from './inspector.tsx'
import { createLast } from './last.ts'
import {
  createModel,
  type Filter,
  MAX_EVENTS,
  MAX_LENGTH,
  MAX_ROWS,
  passes,
  type Shown,
} from './model.ts'
import { createProblemState } from './problemState.ts'
import { ProblemsList } from './problems.tsx'
import { focusRecord, Stream } from './stream.tsx'
import { BARS, Summary } from './summary.tsx'
import { SKIPS, Views, viewOf } from './views.tsx'

/** Notices for the states in which the gateway has no room for another stream. */
const NO_ROOM: Partial<Record<PageState, string>> = {
  'shop-full':
    'Too many live views of this shop are open. Close one in another tab or on another computer. This page continues as soon as there is room.',
  full: 'Too many live views are open on this gateway. This page continues as soon as there is room.',
}
/** After this time without an event the first steps are shown. */
const EMPTY_AFTER_MS = 700
/** Rows that arrive within this time do not flash: they are stored events. */
const HISTORY_MS = 1000
/** From this number of rows at once, none of them flashes. */
const MAX_FLASHING = 30

const NO_FILTER: Filter = { kinds: new Set(), did: '', words: '' }

const root = document.querySelector('#page') as HTMLElement
const list = createRef<HTMLOListElement>()
const dialog = createRef<HTMLDialogElement>()
const isPhone = matchMedia('(max-width: 860px)').matches

const model = createModel()
/** The gateway's clock minus this browser's, ms. */
let skewMs = 0
const problemState = createProblemState(() => Date.now() + skewMs, showProblems)
const { problems } = problemState
const operator = createOperator({
  title: 'live view',
  draw,
  onWatch: watch,
  onLeave: stopFeeds,
})
const announcements = createAnnouncements(() => !isPaused && operator.view.isViewShown, draw)
let stopFeed = () => {}
let view = viewOf(location.hash)
/** The text in the search field. `filter` has it trimmed and in lower case. */
let typed = ''
let filter = NO_FILTER
/** The rows that are shown, newest first. */
let records: readonly Shown[] = []
let version = 0
let fresh = new WeakSet<Shown>()
let chosen: Shown | undefined
let trackingKey = ''
let isDemo = false
let noRoom = ''
/** False until the first draw of a customer: the first steps are not shown before, since its events may be loading. */
let isSettled = false
/** Received and not yet drawn, oldest first. During a pause, events wait here. */
const waiting = createLast<LiveEvent>(MAX_EVENTS, MAX_LENGTH)
/** Number of events that were dropped during a pause, since `waiting` was full. */
let lost = 0
let isPaused = false
let isPlanned = false
let historyUntil = 0
let minute = model.lastMinute(BARS)

setInterval(() => {
  if (isPaused) return
  minute = model.lastMinute(BARS)
  draw()
}, 1000)
addEventListener('hashchange', () => {
  view = viewOf(location.hash)
  if (view === 'problems') problemState.see()
  if (view !== 'events') problemState.reload()
  draw()
})
draw()
operator.start()

/* The customer */

function watch(customer: Customer, serverNow: number) {
  stopFeeds()
  skewMs = serverNow - Date.now()
  model.setServerClock(serverNow)
  isPaused = false
  chosen = undefined
  trackingKey = customer.trackingKey
  isDemo = customer.demo
  typed = ''
  filter = NO_FILTER
  beginAnew()
  isSettled = false
  setTimeout(update, EMPTY_AFTER_MS)
  const onEnd = (reason: EndReason) => {
    dialog.current?.close()
    operator.showEnd(customer, reason)
  }
  stopFeed = startFeed(customer.customerId, {
    onEvent: receive,
    onState: showFeedState,
    onGap: beginAnew,
    onEnd,
  })
  problemState.start(customer.customerId, onEnd)
}

/** Forgets all events. */
function beginAnew() {
  model.reset()
  waiting.clear()
  lost = 0
  historyUntil = Date.now() + HISTORY_MS
  setFilter(filter)
}

function stopFeeds() {
  stopFeed()
  problemState.stop()
}

function showProblems(added: readonly string[]) {
  if (added.length > 0)
    announcements.say(`${added.length} new ${nameOf(added.length, 'problem')}: ${added.join(', ')}`)
  if (view === 'problems') problemState.see()
  draw()
}

/** Opens the dialog, and loads the key again: it may have changed since the customers were loaded. */
async function showTag() {
  dialog.current?.showModal()
  const asked = operator.view.watched
  const one = await operator.reload()
  if (!one || one.customerId !== asked?.customerId) return
  if (operator.view.watched?.customerId !== one.customerId) return
  trackingKey = one.trackingKey
  draw()
}

function showFeedState(state: PageState) {
  noRoom = NO_ROOM[state] ?? ''
  isSettled ||= noRoom !== ''
  operator.setState(state)
  draw()
}

/* Arriving events */

function receive(event: LiveEvent, length: number) {
  lost += waiting.add(event, length)
  announcements.count()
  plan()
}

function plan() {
  if (isPlanned) return
  isPlanned = true
  // A hidden page has no animation frames. It is drawn when it is shown again.
  requestAnimationFrame(update)
}

/** Shows the waiting events; during a pause only their number. */
function update() {
  isPlanned = false
  if (!isPaused) showWaiting()
  draw()
}

function showWaiting() {
  const added = takeWaiting().filter((record) => passes(record, filter))
  if (added.length > 0) {
    if (Date.now() > historyUntil && added.length < MAX_FLASHING)
      for (const record of added) fresh.add(record)
    records = [...added.reverse(), ...records].slice(0, MAX_ROWS)
  }
  lost = 0
  isSettled = true
  minute = model.lastMinute(BARS)
}

/** Moves the waiting events into the model. @returns The records of those that the model did not have. */
function takeWaiting(): Shown[] {
  const added = waiting.all().flatMap(({ thing, length }) => model.add(thing, length) ?? [])
  waiting.clear()
  return added
}

/* The operator's actions */

function setFilter(next: Filter) {
  filter = next
  records = model.find(filter)
  version++
  fresh = new WeakSet()
  draw()
}

function search(text: string) {
  typed = text
  setFilter({ ...filter, words: typed.trim().toLowerCase() })
}

function resetFilters() {
  typed = ''
  setFilter(NO_FILTER)
}

function toggleKind(kind: string) {
  const kinds = new Set(filter.kinds)
  if (!kinds.delete(kind)) kinds.add(kind)
  setFilter({ ...filter, kinds })
}

const toggleDevice = (did: string) => setFilter({ ...filter, did: filter.did === did ? '' : did })

function choose(id: string) {
  if (id === chosen?.id) return closeInspector()
  const record = model.get(id)
  if (!record) return
  chosen = record
  draw()
}

function closeInspector() {
  if (!chosen) return
  const { id } = chosen
  chosen = undefined
  draw()
  if (list.current) focusRecord(list.current, id)
}

function togglePause() {
  isPaused = !isPaused
  update()
}

function clear() {
  closeInspector()
  // Events that wait during a pause are cleared too: they must not appear when the pause ends.
  takeWaiting()
  lost = 0
  model.clear()
  minute = model.lastMinute(BARS)
  setFilter(filter)
}

/* The page */

function draw() {
  render(<Page />, root)
}

function Page() {
  const { isViewShown } = operator.view
  const { trouble, version: problemVersion, news } = problemState.view
  const total = model.total()
  const isEmpty = records.length === 0
  const isEvents = view === 'events'
  const setup = `../setup/?customer=${encodeURIComponent(operator.view.linked)}`
  return (
    <>
      <Frame
        page="live"
        operator={operator}
        skip={SKIPS[view]}
        tools={
          <button type="button" onClick={showTag} data-test="show-tag">
            <Sign name="tag" />
            <span>Script tag</span>
          </button>
        }
      >
        <main
          id="view"
          class={['view', isEvents && chosen && 'inspecting', total === 0 && 'waits']
            .filter(Boolean)
            .join(' ')}
          hidden={!isViewShown}
        >
          <Views
            shown={view}
            problems={problems.current().length}
            warnings={problems.warnings().length}
            news={news}
          />
          <Summary
            model={model}
            minute={minute}
            filter={filter}
            isShort={isPhone}
            isHidden={!isEvents}
            onKind={toggleKind}
            onAllKinds={() => setFilter({ ...filter, kinds: new Set() })}
            onDevice={toggleDevice}
          />
          <section class="feed" aria-label="Events" hidden={!isEvents}>
            <Bar
              typed={typed}
              did={filter.did}
              isPaused={isPaused}
              waiting={waiting.size() + lost}
              onType={search}
              onAllDevices={() => toggleDevice(filter.did)}
              onPause={togglePause}
              onClear={clear}
            />
            <p class="notice" role="status" hidden={!noRoom} data-test="no-room">
              {noRoom}
            </p>
            <div class="columns" aria-hidden="true" hidden={isEmpty}>
              <span>Time</span>
              <span>Kind</span>
              <span>Subject</span>
              <span>Device</span>
              <span>Page</span>
            </div>
            <Stream
              list={list}
              records={records}
              fresh={fresh}
              chosen={chosen?.id ?? ''}
              version={version}
              onChoose={choose}
              onDevice={toggleDevice}
            />
            <p class="hint" hidden={!isEmpty || total === 0}>
              No event matches the filters.{' '}
              <button type="button" class="text" onClick={resetFilters}>
                Show all
              </button>
            </p>
            <FirstSteps
              tag={writeTag(trackingKey)}
              setup={setup}
              isDemo={isDemo}
              isHidden={!isSettled || total > 0 || noRoom !== ''}
            />
          </section>
          <Inspector
            record={isEvents ? chosen : undefined}
            onClose={closeInspector}
            onDevice={(did) => setFilter({ ...filter, did })}
          />
          <section
            id="problems-view"
            class="lists"
            aria-label="Problems"
            hidden={view !== 'problems'}
            tabIndex={-1}
          >
            <ProblemsList problems={problems} trouble={trouble} version={problemVersion} />
          </section>
          <section
            id="coverage-view"
            class="lists"
            aria-label="Coverage"
            hidden={view !== 'coverage'}
            tabIndex={-1}
          >
            <CoverageList
              problems={problems}
              trouble={trouble}
              version={problemVersion}
              setup={setup}
            />
          </section>
        </main>
      </Frame>
      <TagDialog dialog={dialog} tag={writeTag(trackingKey)} />
      <announcements.Region />
    </>
  )
}
