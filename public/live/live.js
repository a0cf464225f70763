/**
 * The live view: events as they arrive, what they add up to, and each one whole. In order: who is
 * watched, the stream, what was received is gathered and drawn at most once a frame.
 */
import { $, copy } from './dom.js'
import { startFeed } from './feed.js'
import { createInspector } from './inspector.js'
import { shortDid } from './kinds.js'
import { createLast } from './last.js'
import { createModel, MAX_EVENTS, MAX_LENGTH, passes } from './model.js'
import { createOperator, showState } from './operator.js'
import { createStream } from './stream.js'
import { createSummary } from './summary.js'

/** Why there is no stream, where the gateway has no room for one more. */
const NO_ROOM = {
  'shop-full':
    'Too many live views of this shop are open. Close one of them, in another tab or on another computer: this page goes on as soon as there is room.',
  full: 'Too many live views are open on this gateway. This page goes on as soon as there is room.',
}
/** New events are told to screen readers together, at most this often. */
const SAY_EVERY_MS = 15_000

const model = createModel()
const filter = { kinds: new Set(), did: '', words: '' }
const stream = createStream({ onChoose: choose, onDevice: toggleDevice })
const summary = createSummary(model, { onKind: toggleKind, onDevice: toggleDevice })
const inspector = createInspector({ onClose: closeInspector, onDevice: onlyDevice })
const operator = createOperator('live view', { onWatch: watch, onLeave: () => stopFeed() })

/** Received and not yet drawn, oldest first. While paused they wait here. */
const waiting = createLast(MAX_EVENTS, MAX_LENGTH)
let lost = 0
let drawing = false
let paused = false
let chosen = ''
/** The customer watched. */
let watched
let unsaid = 0
let stopFeed = () => {}
/** Rows of the first burst do not flash: they are history. */
let quietUntil = 0

startButtons()
// On a phone the events come first: the longer lists are opened when asked for.
if (matchMedia('(max-width: 860px)').matches)
  for (const panel of document.querySelectorAll('.panel:not(:has(#funnel))')) panel.open = false
setInterval(() => !paused && summary.drawMinute(), 1000)
setInterval(sayNews, SAY_EVERY_MS)
operator.start()

/* Who is watched */

function watch(customer, serverNow) {
  const { customerId, trackingKey, demo } = customer
  model.setServerClock(serverNow)
  watched = customer
  stopFeed()
  model.reset()
  waiting.clear()
  setPaused(false)
  closeInspector()
  resetFilters()
  writeTag(trackingKey)
  $('#demo-hint').hidden = !demo
  quietUntil = Date.now() + 1000
  $('#empty').hidden = true
  setTimeout(draw, 700)
  stopFeed = startFeed(customerId, {
    onEvent: receive,
    onState: showFeedState,
    onEnd: (reason) => {
      if ($('#tag').open) $('#tag').close()
      operator.showEnd(customer, reason)
    },
  })
}

function writeTag(/** @type {string} */ trackingKey) {
  const tag = `<script async src="${location.origin}/t/j/${encodeURIComponent(trackingKey)}"></script>`
  for (const code of document.querySelectorAll('[data-tag]')) code.textContent = tag
}

/** The dialog, with the key of now: it may have been changed since the customers were asked for. */
async function showTag() {
  $('#tag').showModal()
  const { customerId } = watched
  const one = await operator.reload()
  if (one?.customerId === customerId && watched.customerId === customerId) writeTag(one.trackingKey)
}

function showFeedState(/** @type {string} */ state) {
  showState(state)
  const notice = $('#no-room')
  const said = NO_ROOM[state] ?? ''
  if (notice.textContent === said) return
  notice.textContent = said
  notice.hidden = !said
  drawAround()
}

/* What arrives */

function receive(event, length) {
  lost += waiting.add(event, length)
  unsaid++
  if (paused) showPaused()
  else plan()
}

/** Once a frame; a hidden page has no frames, and is drawn when there is time. */
function plan() {
  if (drawing) return
  drawing = true
  if (document.hidden) setTimeout(draw, 500)
  else requestAnimationFrame(draw)
}

function draw() {
  drawing = false
  if (paused) return
  const records = takeWaiting()
  const shown = records.filter((record) => passes(record, filter))
  if (shown.length > 0) stream.add(shown, Date.now() > quietUntil && shown.length < 30)
  drawAround()
}

/** Counts what waits; answers what is new of it. */
function takeWaiting() {
  const records = waiting.all().flatMap(({ thing, length }) => model.add(thing, length) ?? [])
  waiting.clear()
  return records
}

function drawAround() {
  summary.draw(filter)
  const none = $('#stream').childElementCount === 0
  $('#empty').hidden = model.total() > 0 || !$('#no-room').hidden
  document.body.classList.toggle('waits', model.total() === 0)
  $('#no-match').hidden = !none || model.total() === 0
  $('.columns').hidden = none
  const chip = $('#device-chip')
  chip.hidden = !filter.did
  chip.textContent = filter.did && `device ${shortDid(filter.did)} ✕`
  chip.setAttribute('aria-label', `Show every device again, not only ${shortDid(filter.did)}`)
}

/* What the viewer does */

function redraw() {
  stream.replace(model.find(filter))
  drawAround()
}

function toggleKind(kind) {
  if (!filter.kinds.delete(kind)) filter.kinds.add(kind)
  redraw()
}

function toggleDevice(did) {
  filter.did = filter.did === did ? '' : did
  redraw()
}

function onlyDevice(did) {
  if (filter.did !== did) toggleDevice(did)
}

function resetFilters() {
  filter.kinds.clear()
  filter.did = ''
  filter.words = ''
  $('#look').value = ''
  redraw()
}

function choose(id) {
  if (id === chosen) return closeInspector()
  const record = model.get(id)
  if (!record) return
  chosen = id
  stream.choose(id)
  inspector.show(record)
}

function closeInspector() {
  if (!chosen) return
  const was = chosen
  chosen = ''
  inspector.hide()
  stream.choose('')
  stream.focus(was)
}

function setPaused(/** @type {boolean} */ wanted) {
  paused = wanted
  $('#pause').setAttribute('aria-pressed', String(paused))
  $('#pause use').setAttribute('href', paused ? '#s-play' : '#s-pause')
  showPaused()
  if (!paused) plan()
}

function showPaused() {
  const news = waiting.size() + lost
  $('#pause span').textContent = paused ? `Resume${news ? ` (${news} new)` : ''}` : 'Pause'
  if (!paused) lost = 0
}

function sayNews() {
  if (unsaid > 0 && !paused && !$('#view').hidden)
    $('#said').textContent = `${unsaid} new ${unsaid === 1 ? 'event' : 'events'}`
  unsaid = 0
}

function startButtons() {
  const onClick = (selector, act) => $(selector).addEventListener('click', act)
  onClick('#pause', () => setPaused(!paused))
  onClick('#clear', () => {
    closeInspector()
    // What waits in a pause is cleared with the rest: it must not come back with the resume.
    takeWaiting()
    model.clear()
    showPaused()
    redraw()
  })
  onClick('#all-kinds', () => {
    filter.kinds.clear()
    redraw()
  })
  onClick('#all-devices', () => toggleDevice(filter.did))
  onClick('#device-chip', () => toggleDevice(filter.did))
  onClick('#reset-filters', resetFilters)
  onClick('#show-tag', showTag)
  for (const button of document.querySelectorAll('[data-copy-tag]'))
    button.addEventListener('click', () => copy($('[data-tag]').textContent, button))
  $('#look').addEventListener('input', ({ target }) => {
    filter.words = target.value.trim().toLowerCase()
    redraw()
  })
}
