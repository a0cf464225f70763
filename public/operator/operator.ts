/**
 * The part that all operators' pages share: the customers that the operator may see, the watched one, signing in and
 * out. Each page decides what it shows of a customer.
 */
import { dropDrafts } from './drafts.ts'
import { describeQuota, type QuotaNotice } from './quota.ts'
import { type Customer, loadCustomers, signIn, signOut } from './session.ts'
import { createVisibleTimer } from './visibleTimer.ts'

export type { Customer } from './session.ts'

/** State of the page's connection to the gateway; '' shows nothing. */
export type PageState =
  | ''
  | 'connecting'
  | 'connected'
  | 'reconnecting'
  | 'shop-full'
  | 'full'
  | 'unreachable'

/** Why the operator may no longer see a customer. */
export type EndReason = 'key_changed' | 'signed_out' | 'removed' | 'refused'

/** The sign-in form, as it was opened. */
export type Login = {
  /** The prefilled customer id; '' for an empty field. */
  readonly customerId: string
  /** Label of the button that leaves the form; undefined for no button. */
  readonly back: string | undefined
  readonly error: string
  /** Number of this opening of the form. */
  readonly opening: number
}

/** The state that the frame of a page shows. */
export type OperatorView = {
  /** The sign-in form; undefined while it is closed. */
  readonly login: Login | undefined
  /** Whether the page's own view is shown: a customer is watched, and the sign-in form is closed. */
  readonly isViewShown: boolean
  readonly customers: readonly Customer[]
  readonly watched: Customer | undefined
  /** Whether the operator may see a customer other than the demo. */
  readonly isSignedIn: boolean
  /** Id of the customer in the links to the other pages; '' for none. */
  readonly linked: string
  /** '' while the sign-in form is shown, unless the gateway does not answer: the form has its own messages. */
  readonly state: PageState
  readonly quota: QuotaNotice | undefined
}

export type Operator = ReturnType<typeof createOperator>

export type OperatorParts = {
  /** Name of the page, for its title and the sign-in form. */
  readonly title: string
  /** Draws the page after a change of `view`. */
  readonly draw: () => void
  /** Called when the page starts to watch a customer, also when it starts again. */
  readonly onWatch: (customer: Customer, serverNow: number) => void
  /** Called when the page stops watching the customer. */
  readonly onLeave: () => void
  /** Called after the operator has signed out: the page forgets what they have typed. */
  readonly onSignOut?: () => void
}

const RETRY_MS = 3000
/** How often the use of the daily quota is loaded. */
const QUOTA_MS = 60_000

export function createOperator({ title, draw, onWatch, onLeave, onSignOut }: OperatorParts) {
  let customers: readonly Customer[] = []
  let watched: Customer | undefined
  /** The customer that was watched last. */
  let lastId = ''
  let linked = ''
  let login: Login | undefined
  let openings = 0
  let isViewShown = false
  let state: PageState = 'connecting'
  let quota: QuotaNotice | undefined
  const retry = createVisibleTimer()
  const quotaTimer = createVisibleTimer()

  const isSignedIn = () => customers.some(({ demo }) => !demo)
  const findCustomer = (id: string) => customers.find(({ customerId }) => customerId === id)
  const namedInAddress = () => new URLSearchParams(location.search).get('customer') ?? ''

  /** The customer to show if none is named: the last one, else one that the operator has signed in to, else the demo. */
  function usual(except = ''): Customer | undefined {
    const others = customers.filter(({ customerId }) => customerId !== except)
    return (
      others.find(({ customerId }) => customerId === lastId) ??
      others.find(({ demo }) => !demo) ??
      others[0]
    )
  }

  /**
   * Shows the customer that the address names, else the usual one. If the operator may not see the named one, asks to
   * sign in and shows no other.
   */
  async function show() {
    retry.stop()
    const answer = await loadCustomers()
    customers = answer?.customers ?? []
    const named = namedInAddress()
    const shown = named ? findCustomer(named) : usual()
    if (!answer || !shown) return showLogin(named)
    watch(shown, answer.serverNow)
  }

  const showOrRetry = () => show().catch(showUnreachable)

  function watch(customer: Customer, serverNow = Date.now()) {
    const { customerId, name } = customer
    watched = customer
    lastId = customerId
    linked = customerId
    login = undefined
    isViewShown = true
    document.title = `${name || customerId} · ${title} · shoptrail`
    startQuota(customer)
    onWatch(customer, serverNow)
    draw()
  }

  function startQuota(customer: Customer) {
    quota = describeQuota(customer.quota)
    quotaTimer.set(async () => {
      const one = (await reload()) ?? watched
      if (!one || !isViewShown) return
      startQuota(one)
      draw()
    }, QUOTA_MS)
  }

  /**
   * Loads the customers again, since a key may have changed.
   *
   * @returns The watched customer; undefined if it could not be loaded.
   */
  async function reload(): Promise<Customer | undefined> {
    const answer = await loadCustomers().catch(() => undefined)
    const one = answer?.customers.find(({ customerId }) => customerId === watched?.customerId)
    if (!answer || !one) return undefined
    customers = answer.customers
    watched = one
    return one
  }

  /** Asks to sign in to a customer. Another visible customer is offered by a button, and not shown without a click. */
  function showLogin(customerId: string) {
    leave()
    linked = customerId
    const other = usual(customerId)
    openLogin(customerId, other && `Show ${other.name || other.customerId} instead`)
  }

  function openLogin(customerId: string, back: string | undefined) {
    quotaTimer.stop()
    quota = undefined
    isViewShown = false
    login = { customerId, back, error: '', opening: ++openings }
    draw()
  }

  /** The form must be drawn before this: screen readers announce only a change of its live region. */
  function setLoginError(error: string) {
    if (login) login = { ...login, error }
    draw()
  }

  function leave() {
    watched = undefined
    onLeave()
    state = ''
  }

  function showUnreachable() {
    setState('unreachable')
    retry.set(showOrRetry, RETRY_MS)
  }

  function setState(now: PageState) {
    if (state === now) return
    state = now
    draw()
  }

  /** Asks to sign in again, with the reason, after the operator has lost access to a watched customer. */
  async function showEnd({ customerId, name }: Customer, reason: EndReason) {
    const answer = await loadCustomers().catch(() => undefined)
    if (watched?.customerId !== customerId) return
    customers = answer?.customers ?? []
    const called = name || customerId
    const reasons: Record<EndReason, string> = {
      key_changed: `The REST key of ${called} has changed: sign in again.`,
      signed_out: 'You are signed out: sign in again.',
      removed: `${called} has been removed.`,
      refused: `You can no longer see ${called}: sign in again.`,
    }
    showLogin(reason === 'removed' ? '' : customerId)
    setLoginError(reasons[reason])
  }

  /** Signs out and removes the operator's data from the page and its address. The demo stays watched. */
  async function end() {
    const before = watched
    // Before the request: the end of the stream would be shown as if another tab had signed out.
    onLeave()
    const answer = await signOut().catch(() => undefined)
    if (!answer?.ok) return show()
    dropDrafts()
    onSignOut?.()
    clearAddress()
    const left = await loadCustomers()
    customers = left?.customers ?? []
    if (!before || before.demo) return show()
    showLogin(before.customerId)
    linked = ''
    draw()
  }

  const clearAddress = () => history.replaceState(null, '', location.pathname)
  const putIntoAddress = (customerId: string) =>
    history.replaceState(null, '', `?customer=${encodeURIComponent(customerId)}`)

  /** Watches another customer. @returns false if the operator may not see it. */
  function choose(customerId: string): boolean {
    const one = findCustomer(customerId)
    if (one) watch(one)
    return one !== undefined
  }

  return {
    get view(): OperatorView {
      return {
        login,
        isViewShown,
        customers,
        watched,
        linked,
        state: login && state !== 'unreachable' ? '' : state,
        quota,
        isSignedIn: isSignedIn(),
      }
    },
    title,
    /** Watches the right customer, or asks to sign in. */
    start: showOrRetry,
    choose,
    reload,
    setState,
    showEnd,
    /** Watches the customer that was chosen in the list. */
    select(customerId: string) {
      putIntoAddress(customerId)
      choose(customerId)
    },
    /** Opens the sign-in form for another customer. */
    openLogin: () => openLogin('', 'Back'),
    cancelLogin() {
      // Without a watched customer, the address names one that the operator may not see.
      if (!watched) clearAddress()
      showOrRetry()
    },
    /** @returns Whether the sign-in succeeded. */
    async submitLogin(customerId: string, restKey: string): Promise<boolean> {
      const error = await signIn(customerId, restKey)
      setLoginError(error)
      if (error) return false
      // If the address names this customer already, it is kept, and the operator returns to the same view.
      if (namedInAddress() !== customerId) putIntoAddress(customerId)
      showOrRetry()
      return true
    },
    signOut: () => end().catch(showUnreachable),
  }
}
