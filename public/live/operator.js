/**
 * Who is watched, the same on every page of an operator: the list of customers, signing in and out, and
 * the way to the other page, which keeps the customer. The page itself says what it shows of one.
 */
import { $, h } from './dom.js'
import { loadCustomers, signIn, signOut } from './feed.js'

/** In the list of customers: sign in to one more. No customer id has a space. */
const ANOTHER = 'sign in'
const RETRY_MS = 3000

/**
 * @typedef {{ customerId: string, name: string, trackingKey: string, demo: boolean, origin: string | null }} Customer
 * @param {string} title What the page is called: in its title and in the form to sign in.
 * @param {{ onWatch: (customer: Customer, serverNow: number) => void, onLeave: () => void }} told `onWatch`
 * when somebody is watched, again or anew; `onLeave` when that has ended.
 */
export function createOperator(title, { onWatch, onLeave }) {
  /** @type {Customer[]} */
  let customers = []
  /** @type {Customer | undefined} */
  let watched
  $('#login').append(...buildLogin(title))
  startButtons()

  async function show() {
    const answer = await loadCustomers()
    if (!answer || answer.customers.length === 0) return showLogin(false)
    customers = answer.customers
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
    showTools(true)
    $('#sign-in').hidden = isSignedIn
    $('#sign-out').hidden = customers.every(({ demo }) => demo)
    $('#login').hidden = true
    $('#view').hidden = false
    watch(first, answer.serverNow)
  }

  function watch(customer, serverNow = Date.now()) {
    const { customerId, name } = customer
    watched = customer
    document.title = `${name || customerId} · ${title} · shoptrail`
    for (const link of document.querySelectorAll('.pages a'))
      link.search = `?customer=${encodeURIComponent(customerId)}`
    onWatch(customer, serverNow)
  }

  function showTools(/** @type {boolean} */ shown) {
    $('.customer').hidden = !shown
    for (const tool of document.querySelectorAll('.tools button')) tool.hidden = !shown
  }

  function showLogin(/** @type {boolean} */ mayCancel) {
    $('.wrong-key').textContent = ''
    if (!mayCancel) leave()
    $('#view').hidden = true
    $('#login').hidden = false
    $('#login-cancel').hidden = !mayCancel
    showTools(false)
    $('#login input').focus()
  }

  function leave() {
    watched = undefined
    onLeave()
    showState('signed-out')
  }

  function showUnreachable() {
    showState('unreachable')
    setTimeout(() => show().catch(showUnreachable), RETRY_MS)
  }

  /**
   * The operator may not look at this customer any more. Whoever else may be seen is one button away,
   * not shown unasked.
   */
  async function showEnd({ customerId, name }, reason) {
    const others = await loadCustomers().catch(() => undefined)
    if (watched?.customerId !== customerId) return
    showLogin(!!others?.customers.length)
    showState('signed-out')
    $('.wrong-key').textContent =
      {
        key_changed: `The REST key of ${name || customerId} has changed: sign in again.`,
        signed_out: 'You are signed out: sign in again.',
        removed: `${name || customerId} has been removed.`,
      }[reason] ?? `You may not see ${name || customerId} any more: sign in again.`
    if (reason === 'removed') return
    $('#login form').customerId.value = customerId
    $('#login form').restKey.focus()
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

  function startButtons() {
    const onClick = (selector, act) => $(selector).addEventListener('click', act)
    onClick('#sign-in', () => showLogin(true))
    onClick('#login-cancel', () => show().catch(showUnreachable))
    onClick('#sign-out', async () => {
      // Else the page would say that we are signed out, which the operator knows.
      onLeave()
      await signOut().catch(() => {})
      show().catch(showUnreachable)
    })
    $('#customer').addEventListener('change', ({ target }) => {
      if (target.value === ANOTHER) {
        target.value = watched.customerId
        return showLogin(true)
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
    /** The list of customers as it is now: a key may have been changed since. */
    async reload() {
      const answer = await loadCustomers().catch(() => undefined)
      const one = answer?.customers.find(({ customerId }) => customerId === watched?.customerId)
      if (!one) return undefined
      customers = answer.customers
      watched = one
      return one
    },
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
