import type { TargetedEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Operator } from './operator.ts'

/** The sign-in form. Its values are kept only in its fields, so that an update of the page does not change them. */
export function LoginForm({ operator }: { readonly operator: Operator }) {
  const { login } = operator.view
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const customerId = useRef<HTMLInputElement>(null)
  const restKey = useRef<HTMLInputElement>(null)

  useLayoutEffect(() => {
    if (!login || !customerId.current || !restKey.current) return
    customerId.current.value = login.customerId
    restKey.current.value = ''
    const first = login.customerId ? restKey.current : customerId.current
    first.focus()
  }, [login?.opening])

  async function submit(event: TargetedEvent<HTMLFormElement>) {
    event.preventDefault()
    if (!customerId.current || !restKey.current) return
    setBusy(true)
    const isRight = await operator.submitLogin(
      customerId.current.value.trim(),
      restKey.current.value.trim(),
    )
    setBusy(false)
    if (isRight) form.current?.reset()
    else restKey.current.select()
  }

  return (
    <section class="login" aria-labelledby="login-title" hidden={!login}>
      <form ref={form} method="post" action="../live/login" onSubmit={submit} data-test="login">
        <h2 id="login-title">Sign in to your {operator.title}</h2>
        <p>The REST key is posted once and is not kept in this page.</p>
        <label>
          <span>
            Customer ID{' '}
            <small>
              (as <code>customer add</code> printed it)
            </small>
          </span>
          <input
            ref={customerId}
            name="customerId"
            autocomplete="username"
            required
            spellcheck={false}
            data-test="login-customer"
          />
        </label>
        <label>
          REST key
          <input
            ref={restKey}
            name="restKey"
            type="password"
            autocomplete="current-password"
            required
            data-test="login-key"
          />
        </label>
        <p class="wrong wrong-key" role="alert" data-test="login-error">
          {login?.error}
        </p>
        <div class="row">
          <button type="submit" class="primary" disabled={isBusy} data-test="login-submit">
            Sign in
          </button>
          <button type="button" onClick={operator.cancelLogin} hidden={!login?.back}>
            {login?.back}
          </button>
        </div>
      </form>
    </section>
  )
}
