/**
 * The live view: events as they arrive, what they add up to, and each one whole. In order: who is
 * watched, the stream, what was received is gathered and drawn at most once a frame.
 */
import { $, copy, h } from './dom.js'
import { loadCustomers, signIn, signOut, startFeed } from './feed.js'
import { createInspector } from './inspector.js'
import { shortDid } from './kinds.js'
import { createModel, MAX_EVENTS, passes } from './model.js'
import { createStream } from './stream.js'
import { createSummary } from './summary.js'

/** In the list of customers: sign in to one more. No customer id has a space. */
const ANOTHER = 'sign in'
/** New events are told to screen readers together, at most this often. */
const SAY_EVERY_MS = 15_000

const model = createModel()
const filter = { kinds: new Set(), did: '', words: '' }
const stream = createStream({ onChoose: choose, onDevice: toggleDevice })
const summary = createSummary(model, { onKind: toggleKind, onDevice: toggleDevice })
const inspector = createInspector({ onClose: closeInspector, onDevice: onlyDevice })

/** Received and not yet drawn, oldest first. While paused they wait here. */
let waiting = []
let lost = 0
let drawing = false
let paused = false
let chosen = ''
let customers = []
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
showCustomers().catch(showUnreachable)

/* Who is watched */

async function showCustomers() {
  const answer = await loadCustomers()
  if (!answer || answer.customers.length === 0) return showLogin(false)
  customers = answer.customers
  model.setServerClock(answer.serverNow)
  const wanted = new URLSearchParams(location.search).get('customer') ?? $('#customer').value
  const first = customers.find(({ customerId }) => customerId === wanted) ?? customers[0]
  const isSignedIn = customers.some(({ demo }) => !demo)
  $('#customer').replaceChildren(
    ...customers.map(({ customerId, name }) =>
      h('option', { value: customerId }, name || customerId),
    ),
    ...(isSignedIn ? [h('option', { value: ANOTHER }, 'Sign in to another…')] : []),
  )
  $('#customer').value = first.customerId
  $('.customer').hidden = false
  $('#show-tag').hidden = false
  $('#sign-in').hidden = isSignedIn
  $('#sign-out').hidden = customers.every(({ demo }) => demo)
  $('#login').hidden = true
  $('#view').hidden = false
  watch(first)
}

function watch(customer) {
  const { customerId, name, trackingKey, demo } = customer
  watched = customer
  stopFeed()
  model.reset()
  waiting = []
  setPaused(false)
  closeInspector()
  resetFilters()
  document.title = `${name || customerId} · live view · shoptrail`
  writeTag(trackingKey)
  $('#demo-hint').hidden = !demo
  quietUntil = Date.now() + 1000
  $('#empty').hidden = true
  setTimeout(draw, 700)
  stopFeed = startFeed(customerId, {
    onEvent: receive,
    onState: showState,
    onEnd: (reason) => showEnd(customer, reason),
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
  const answer = await loadCustomers().catch(() => undefined)
  const one = answer?.customers.find((other) => other.customerId === customerId)
  if (!one || watched.customerId !== customerId) return
  watched = one
  customers = answer.customers
  writeTag(one.trackingKey)
}

/** The viewer may not look any more. Whoever else may be seen is one button away, not shown unasked. */
async function showEnd({ customerId, name }, reason) {
  const others = await loadCustomers().catch(() => undefined)
  if (watched.customerId !== customerId) return
  if ($('#tag').open) $('#tag').close()
  showLogin(!!others?.customers.length)
  showState('signed-out')
  $('.wrong').textContent =
    {
      key_changed: `The REST key of ${name || customerId} has changed: sign in again.`,
      signed_out: 'You are signed out: sign in again.',
      removed: `${name || customerId} has been removed.`,
    }[reason] ?? `You may not see ${name || customerId} any more: sign in again.`
  if (reason === 'removed') return
  $('#login form').customerId.value = customerId
  $('#login form').restKey.focus()
}

function showLogin(/** @type {boolean} */ mayCancel) {
  $('.wrong').textContent = ''
  if (!mayCancel) stopFeed()
  if (!mayCancel) showState('signed-out')
  $('#view').hidden = true
  $('#login').hidden = false
  $('#login-cancel').hidden = !mayCancel
  for (const id of ['#show-tag', '#sign-in', '#sign-out', '.customer']) $(id).hidden = true
  $('#login input').focus()
}

function showUnreachable() {
  showState('unreachable')
  setTimeout(() => showCustomers().catch(showUnreachable), 3000)
}

function showState(/** @type {string} */ state) {
  const box = $('#state')
  if (box.dataset.state === state) return
  box.dataset.state = state
  box.lastElementChild.textContent = {
    connecting: 'connecting',
    connected: 'live',
    reconnecting: 'reconnecting…',
    unreachable: 'gateway does not answer, trying again…',
    'signed-out': 'signed out',
  }[state]
}

/* What arrives */

function receive(event) {
  waiting.push(event)
  unsaid++
  if (waiting.length > MAX_EVENTS) {
    waiting.shift()
    lost++
  }
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
  const records = waiting.flatMap((event) => model.add(event) ?? [])
  waiting = []
  const shown = records.filter((record) => passes(record, filter))
  if (shown.length > 0) stream.add(shown, Date.now() > quietUntil && shown.length < 30)
  drawAround()
}

function drawAround() {
  summary.draw(filter)
  const none = $('#stream').childElementCount === 0
  $('#empty').hidden = model.total() > 0
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
  const news = waiting.length + lost
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
    for (const event of waiting) model.add(event)
    waiting = []
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
  onClick('#sign-in', () => showLogin(true))
  onClick('#login-cancel', () => showCustomers().catch(showUnreachable))
  onClick('#sign-out', async () => {
    // Else it would say that we are signed out, which the viewer knows.
    stopFeed()
    await signOut().catch(() => {})
    showCustomers().catch(showUnreachable)
  })
  for (const button of document.querySelectorAll('[data-copy-tag]'))
    button.addEventListener('click', () => copy($('[data-tag]').textContent, button))
  $('#look').addEventListener('input', ({ target }) => {
    filter.words = target.value.trim().toLowerCase()
    redraw()
  })
  $('#customer').addEventListener('change', ({ target }) => {
    if (target.value === ANOTHER) {
      target.value = watched.customerId
      return showLogin(true)
    }
    const one = customers.find(({ customerId }) => customerId === target.value)
    history.replaceState(null, '', `?customer=${encodeURIComponent(one.customerId)}`)
    watch(one)
  })
  $('#login form').addEventListener('submit', async (event) => {
    event.preventDefault()
    const form = event.target
    const button = form.querySelector('.primary')
    button.disabled = true
    const wrong = await signIn(form.customerId.value.trim(), form.restKey.value.trim())
    button.disabled = false
    $('.wrong').textContent = wrong
    if (wrong) return form.restKey.select()
    const { value } = form.customerId
    history.replaceState(null, '', `?customer=${encodeURIComponent(value.trim())}`)
    form.reset()
    showCustomers().catch(showUnreachable)
  })
}
