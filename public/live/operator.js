/**
 * Who is watched, the same on every page of an operator: the list of customers, signing in and out, and
 * the way to the other page, which keeps the customer. The page itself says what it shows of one.
 */
import { $, h } from './dom.js'
import { dropDrafts } from './drafts.js'
import { loadCustomers, signIn, signOut } from './feed.js'
import { createLater } from './later.js'
import { describeQuota } from './quota.js'

/** In the list of customers: sign in to one more. No customer id has a space. */
const ANOTHER = 'sign in'
const RETRY_MS = 3000
/** How often the daily quota of the customer watched is asked for, ms. */
const QUOTA_MS = 60_000

/**
 * @typedef {{ customerId: string, name: string, trackingKey: string, demo: boolean, origin: string | null,
 *   quota: Parameters<typeof describeQuota>[0] }} Customer
 * @param {string} title What the page is called: in its title and in the form to sign in.
 * @param {{ onWatch: (customer: Customer, serverNow: number) => void, onLeave: () => void,
 *   onSignOut?: () => void }} told `onWatch` when somebody is watched, again or anew; `onLeave` when that has
 * ended; `onSignOut` when the operator wants nothing of theirs to stay in the page.
 */
export function createOperator(title, { onWatch, onLeave, onSignOut = () => {} }) {
  /** @type {Customer[]} */
  let customers = []
  /** @type {Customer | undefined} */
  let watched
  const retry = createLater()
  const quotaLater = createLater()
  $('#login').append(...buildLogin(title))
  startButtons()

  /** Shows whom the address names, else the first who may be seen: never somebody else in their place. */
  async function show() {
    retry.stop()
    const answer = await loadCustomers()
    customers = answer?.customers ?? []
    const named = new URLSearchParams(location.search).get('customer') ?? ''
    const first = customers.find(({ customerId }) => customerId === (named || $('#customer').value))
    if (named && !first) return showLogin(named)
    if (customers.length === 0) return showLogin('')
    const isSignedIn = customers.some(({ demo }) => !demo)
    const shown = first ?? customers[0]
    $('#customer').replaceChildren(
      ...customers.map(({ customerId, name }) =>
        h('option', { value: customerId }, name || customerId),
      ),
      ...(isSignedIn ? [h('option', { value: ANOTHER }, 'Sign in to another…')] : []),
    )
    $('#customer').value = shown.customerId
    showTools(true)
    $('#sign-in span').textContent = isSignedIn ? 'Sign in to another' : 'Sign in'
    $('#sign-out').hidden = !isSignedIn
    $('#login').hidden = true
    $('#view').hidden = false
    watch(shown, answer.serverNow)
  }

  function watch(customer, serverNow = Date.now()) {
    const { customerId, name } = customer
    watched = customer
    document.title = `${name || customerId} · ${title} · shoptrail`
    linkPages(customerId)
    showQuota(customer)
    onWatch(customer, serverNow)
  }

  /** What is said of the daily quota, now and as it goes on. */
  function showQuota({ quota }) {
    const said = describeQuota(quota)
    const line = $('#quota')
    line.hidden = !said
    line.dataset.state = said?.state ?? ''
    if (line.textContent !== (said?.text ?? '')) line.textContent = said?.text ?? ''
    quotaLater.set(async () => {
      const one = await reload()
      if (watched && !$('#view').hidden) showQuota(one ?? watched)
    }, QUOTA_MS)
  }

  function hideQuota() {
    quotaLater.stop()
    $('#quota').hidden = true
  }

  /** The list of customers as it is now: a key may have been changed since. */
  async function reload() {
    const answer = await loadCustomers().catch(() => undefined)
    const one = answer?.customers.find(({ customerId }) => customerId === watched?.customerId)
    if (!one) return undefined
    customers = answer.customers
    watched = one
    return one
  }

  /** The way to the other page keeps who is watched, or asked for. */
  function linkPages(/** @type {string} */ customerId) {
    for (const link of document.querySelectorAll('.pages a'))
      link.search = customerId && `?customer=${encodeURIComponent(customerId)}`
  }

  function showTools(/** @type {boolean} */ shown) {
    $('.customer').hidden = !shown
    for (const tool of document.querySelectorAll('.tools button')) tool.hidden = !shown
  }

  /** The form for a customer; whoever else may be seen is one button away, not shown unasked. */
  function showLogin(/** @type {string} */ customerId) {
    leave()
    linkPages(customerId)
    const [other] = customers.filter((one) => one.customerId !== customerId)
    showForm(customerId, other && `Show ${other.name || other.customerId} instead`)
  }

  function showForm(/** @type {string} */ customerId, /** @type {string | undefined} */ back) {
    $('.wrong-key').textContent = ''
    hideQuota()
    $('#view').hidden = true
    $('#login').hidden = false
    $('#login-cancel').hidden = !back
    $('#login-cancel').textContent = back ?? ''
    showTools(false)
    const { elements } = $('#login form')
    elements.customerId.value = customerId
    elements.restKey.value = ''
    elements[customerId ? 'restKey' : 'customerId'].focus()
  }

  function leave() {
    watched = undefined
    onLeave()
    showState('signed-out')
  }

  function showUnreachable() {
    showState('unreachable')
    retry.set(() => show().catch(showUnreachable), RETRY_MS)
  }

  /** The operator may not look at this customer any more. */
  async function showEnd({ customerId, name }, reason) {
    const answer = await loadCustomers().catch(() => undefined)
    if (watched?.customerId !== customerId) return
    customers = answer?.customers ?? []
    showLogin(reason === 'removed' ? '' : customerId)
    $('.wrong-key').textContent =
      {
        key_changed: `The REST key of ${name || customerId} has changed: sign in again.`,
        signed_out: 'You are signed out: sign in again.',
        removed: `${name || customerId} has been removed.`,
      }[reason] ?? `You may not see ${name || customerId} any more: sign in again.`
  }

  /** What the operator had is gone from this page, its address too; a demo that was watched goes on. */
  async function end() {
    const was = watched
    // Else the page would say that we are signed out, which the operator knows.
    onLeave()
    const answer = await signOut().catch(() => undefined)
    // Not signed out, so nothing of theirs is dropped.
    if (!answer?.ok) return show()
    dropDrafts()
    onSignOut()
    history.replaceState(null, '', location.pathname)
    const left = await loadCustomers()
    customers = left?.customers ?? []
    if (!was || was.demo) return show()
    showLogin(was.customerId)
    linkPages('')
  }

  /** Another customer, by its id; false where this operator may not see it. */
  function choose(/** @type {string} */ id) {
    const one = customers.find(({ customerId }) => customerId === id)
    if (one) {
      $('#customer').value = id
      watch(one)
    }
    return !!one
  }

  function signInToOne() {
    showForm('', 'Back')
  }

  function startButtons() {
    const onClick = (selector, act) => $(selector).addEventListener('click', act)
    onClick('#sign-in', signInToOne)
    onClick('#login-cancel', () => {
      // Somebody is watched still where the form was only looked at; else the address names who is not.
      if (!watched) history.replaceState(null, '', location.pathname)
      show().catch(showUnreachable)
    })
    onClick('#sign-out', () => end().catch(showUnreachable))
    $('#customer').addEventListener('change', ({ target }) => {
      if (target.value === ANOTHER) {
        target.value = watched.customerId
        return signInToOne()
      }
      history.replaceState(null, '', `?customer=${encodeURIComponent(target.value)}`)
      choose(target.value)
    })
    $('#login form').addEventListener('submit', async (event) => {
      event.preventDefault()
      const form = event.target
      const button = form.querySelector('.primary')
      const customerId = form.customerId.value.trim()
      button.disabled = true
      const wrong = await signIn(customerId, form.restKey.value.trim())
      button.disabled = false
      $('.wrong-key').textContent = wrong
      if (wrong) return form.restKey.select()
      // Who signs in again goes on where they were.
      const here = new URLSearchParams(location.search)
      if (here.get('customer') !== customerId)
        history.replaceState(null, '', `?customer=${encodeURIComponent(customerId)}`)
      form.reset()
      show().catch(showUnreachable)
    })
  }

  return {
    /** Finds out who may be seen; tells `onWatch`, or asks to sign in. */
    start: () => show().catch(showUnreachable),
    choose,
    showEnd,
    reload,
  }
}

/** How the page stands with its gateway; '' shows nothing. */
export function showState(/** @type {string} */ state) {
  const box = $('#state')
  if (box.dataset.state === state) return
  box.dataset.state = state
  box.hidden = !state
  box.lastElementChild.textContent =
    {
      connecting: 'connecting',
      connected: 'live',
      reconnecting: 'reconnecting…',
      'shop-full': 'no room, trying again…',
      full: 'no room, trying again…',
      unreachable: 'gateway does not answer, trying again…',
      'signed-out': 'signed out',
    }[state] ?? ''
}

function buildLogin(/** @type {string} */ title) {
  const field = (label, attributes) => h('label', {}, label, h('input', attributes))
  const customerId = h(
    'span',
    {},
    'Customer ID ',
    h('small', {}, '(as ', h('code', {}, 'customer add'), ' printed it)'),
  )
  return [
    h(
      'form',
      { method: 'post', action: '/live/login', 'data-test': 'login' },
      h('h2', { id: 'login-title' }, `Sign in to your ${title}`),
      h('p', {}, 'The REST key is posted once and is not kept in this page.'),
      field(customerId, {
        name: 'customerId',
        autocomplete: 'username',
        required: '',
        spellcheck: 'false',
        'data-test': 'login-customer',
      }),
      field('REST key', {
        name: 'restKey',
        type: 'password',
        autocomplete: 'current-password',
        required: '',
        'data-test': 'login-key',
      }),
      h('p', { class: 'wrong wrong-key', role: 'alert', 'data-test': 'login-error' }),
      h(
        'div',
        { class: 'row' },
        h('button', { type: 'submit', class: 'primary', 'data-test': 'login-submit' }, 'Sign in'),
        h('button', { type: 'button', id: 'login-cancel', hidden: '' }, 'Back'),
      ),
    ),
  ]
}
