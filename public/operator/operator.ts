/**
 * The operator of a page: the customers that may be seen, the one that is watched, signing in and out. The same on
 * every operator's page; the page itself says what it shows of a customer.
 */
import { dropDrafts } from './drafts.ts'
import { describeQuota, type QuotaNotice } from './quota.ts'
import { type Customer, loadCustomers, signIn, signOut } from './session.ts'
import { createVisibleTimer } from './visibleTimer.ts'

export type { Customer } from './session.ts'

/** How the page stands with its gateway; '' shows nothing. */
export type PageState =
  | ''
  | 'connecting'
  | 'connected'
  | 'reconnecting'
  | 'shop-full'
  | 'full'
  | 'unreachable'
  | 'signed-out'

/** Why a customer may not be seen any more. */
export type EndReason = 'key_changed' | 'signed_out' | 'removed' | 'refused'

/** The form to sign in, as it was opened. */
export type Login = {
  /** Filled in; '' where the operator chooses. */
  readonly customerId: string
  /** Label of the button that leaves the form; undefined for no button. */
  readonly back: string | undefined
  readonly error: string
  /** A number of each opening. */
  readonly opening: number
}

/** What the frame of a page shows. */
export type OperatorView = {
  /** The form to sign in while there is one, else the page's own view once a customer is watched. */
  readonly login: Login | undefined
  readonly isViewShown: boolean
  readonly customers: readonly Customer[]
  readonly watched: Customer | undefined
  /** Whether a customer other than the demo may be seen. */
  readonly isSignedIn: boolean
  /** The customer in the links to the other pages; '' for none. */
  readonly linked: string
  readonly state: PageState
  readonly quota: QuotaNotice | undefined
}

export type Operator = ReturnType<typeof createOperator>

export type OperatorParts = {
  /** Name of the page: in its title and in the form to sign in. */
  readonly title: string
  /** Draws the page: something in `view` has changed. */
  readonly draw: () => void
  /** A customer is watched, again or anew. */
  readonly onWatch: (customer: Customer, serverNow: number) => void
  /** The customer is not watched any more. */
  readonly onLeave: () => void
  /** The operator has signed out: nothing of theirs stays in the page. */
  readonly onSignOut?: () => void
}

const RETRY_MS = 3000
/** How often the use of the daily quota is asked for. */
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

  /** Shows the customer that the address names, else the last or the first one; never another than was named. */
  async function show() {
    retry.stop()
    const answer = await loadCustomers()
    customers = answer?.customers ?? []
    const named = namedInAddress()
    const found = findCustomer(named || lastId)
    if (named && !found) return showLogin(named)
    const shown = found ?? customers[0]
    if (!answer || !shown) return showLogin('')
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

  /** Asks for the customers again, since a key may have changed; undefined where the one watched is not among them. */
  async function reload(): Promise<Customer | undefined> {
    const answer = await loadCustomers().catch(() => undefined)
    const one = answer?.customers.find(({ customerId }) => customerId === watched?.customerId)
    if (!answer || !one) return undefined
    customers = answer.customers
    watched = one
    return one
  }

  /** Asks to sign in to a customer. Another one that may be seen is offered, and not shown unasked. */
  function showLogin(customerId: string) {
    leave()
    linked = customerId
    const other = customers.find((one) => one.customerId !== customerId)
    openLogin(customerId, other && `Show ${other.name || other.customerId} instead`)
  }

  function openLogin(customerId: string, back: string | undefined) {
    quotaTimer.stop()
    quota = undefined
    isViewShown = false
    login = { customerId, back, error: '', opening: ++openings }
    draw()
  }

  /** The form is drawn before: a change of its live region is read out. */
  function setLoginError(error: string) {
    if (login) login = { ...login, error }
    draw()
  }

  function leave() {
    watched = undefined
    onLeave()
    state = 'signed-out'
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

  /** The operator may not see this customer any more. */
  async function showEnd({ customerId, name }: Customer, reason: EndReason) {
    const answer = await loadCustomers().catch(() => undefined)
    if (watched?.customerId !== customerId) return
    customers = answer?.customers ?? []
    const called = name || customerId
    const reasons: Record<EndReason, string> = {
      key_changed: `The REST key of ${called} has changed: sign in again.`,
      signed_out: 'You are signed out: sign in again.',
      removed: `${called} has been removed.`,
      refused: `You may not see ${called} any more: sign in again.`,
    }
    showLogin(reason === 'removed' ? '' : customerId)
    setLoginError(reasons[reason])
  }

  /** Signs out. Nothing of the operator stays in the page or its address; a demo goes on being watched. */
  async function end() {
    const before = watched
    // Before the answer: the end of the stream would be shown as if it came from elsewhere.
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

  /** Watches another customer. @returns false where this operator may not see it. */
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
        state,
        quota,
        isSignedIn: isSignedIn(),
      }
    },
    title,
    /** Finds out which customer to watch, or asks to sign in. */
    start: showOrRetry,
    choose,
    reload,
    setState,
    showEnd,
    /** Another customer by the list of them. */
    select(customerId: string) {
      putIntoAddress(customerId)
      choose(customerId)
    },
    /** Opens the form for one more customer. */
    openLogin: () => openLogin('', 'Back'),
    cancelLogin() {
      // While a customer is still watched the address names it; else it names one that may not be seen.
      if (!watched) clearAddress()
      showOrRetry()
    },
    /** @returns Whether the keys were right. */
    async submitLogin(customerId: string, restKey: string): Promise<boolean> {
      const error = await signIn(customerId, restKey)
      setLoginError(error)
      if (error) return false
      // Else the rest of the address stays: the operator goes on where they were.
      if (namedInAddress() !== customerId) putIntoAddress(customerId)
      showOrRetry()
      return true
    },
    signOut: () => end().catch(showUnreachable),
  }
}
