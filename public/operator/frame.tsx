/** The frame of an operator's page: the header with its links, the choice of a customer, and the sign-in form. */
import type { ComponentChildren, TargetedEvent } from 'preact'
import { LoginForm } from './loginForm.tsx'
import type { Operator, PageState } from './operator.ts'

const PAGES = [
  { name: 'live', path: '../live/', title: 'Live view' },
  { name: 'campaigns', path: '../campaigns/', title: 'Campaigns' },
  { name: 'people', path: '../people/', title: 'People' },
  { name: 'forward', path: '../forward/', title: 'Forwarding' },
  { name: 'setup', path: '../setup/', title: 'Set up' },
] as const

const STATES: Record<PageState, string> = {
  '': '',
  connecting: 'connecting',
  connected: 'live',
  reconnecting: 'reconnecting…',
  'shop-full': 'no room, trying again…',
  full: 'no room, trying again…',
  unreachable: 'gateway does not answer, trying again…',
}

/** Value of the list's last entry, which opens the sign-in form. No customer id contains a space. */
const ANOTHER = 'sign in'

export function Frame({
  page,
  operator,
  skip,
  tools,
  children,
}: {
  readonly page: (typeof PAGES)[number]['name']
  readonly operator: Operator
  /** Target and text of the link that skips the header. */
  readonly skip: { readonly id: string; readonly text: string }
  /** Buttons that only this page has. */
  readonly tools?: ComponentChildren
  /** The page's own view. */
  readonly children: ComponentChildren
}) {
  const { state, quota, isViewShown, isSignedIn, linked } = operator.view
  return (
    <>
      <a class="skip" href={`#${skip.id}`}>
        {skip.text}
      </a>
      <header class="top">
        <div class="brand">
          <svg viewBox="0 0 28 28" aria-hidden="true">
            <path class="mark" d="M5 22c0-8 18-4 18-12" />
            <circle class="dot a" cx="5" cy="22" r="3" />
            <circle class="dot b" cx="14" cy="15.5" r="3" />
            <circle class="dot c" cx="23" cy="8" r="3" />
          </svg>
          <h1>
            shoptrail <span class="sr">{operator.title}</span>
          </h1>
        </div>
        <nav class="pages" aria-label="Pages">
          {PAGES.map(({ name, path, title }) => (
            <a
              key={name}
              href={linked ? `${path}?customer=${encodeURIComponent(linked)}` : path}
              aria-current={name === page ? 'page' : undefined}
              data-test={`to-${name}`}
            >
              {title}
            </a>
          ))}
        </nav>
        <CustomerChoice operator={operator} />
        <p class="state" role="status" data-state={state} data-test="state" hidden={!state}>
          <i />
          <span>{STATES[state]}</span>
        </p>
        <div class="tools">
          {isViewShown && tools}
          <button
            type="button"
            onClick={operator.openLogin}
            data-test="sign-in"
            hidden={!isViewShown}
          >
            <span>{isSignedIn ? 'Another customer' : 'Sign in'}</span>
          </button>
          <button
            type="button"
            onClick={operator.signOut}
            data-test="sign-out"
            hidden={!isViewShown || !isSignedIn}
          >
            <span>Sign out</span>
          </button>
        </div>
        <p class="quota" role="status" data-state={quota?.state} data-test="quota" hidden={!quota}>
          {quota?.text}
        </p>
      </header>
      {children}
      <LoginForm operator={operator} />
    </>
  )
}

function CustomerChoice({ operator }: { readonly operator: Operator }) {
  const { customers, watched, isViewShown, isSignedIn } = operator.view

  function choose({ currentTarget }: TargetedEvent<HTMLSelectElement>) {
    const { value } = currentTarget
    if (value !== ANOTHER) return operator.select(value)
    currentTarget.value = watched?.customerId ?? ''
    operator.openLogin()
  }

  return (
    <label class="customer" hidden={!isViewShown}>
      <span class="sr">Customer</span>
      <select value={watched?.customerId} onChange={choose} data-test="customer">
        {customers.map(({ customerId, name }) => (
          <option key={customerId} value={customerId}>
            {name || customerId}
          </option>
        ))}
        {isSignedIn && (
          <option key={ANOTHER} value={ANOTHER}>
            Another customer…
          </option>
        )}
      </select>
    </label>
  )
}
