/** The requests of an operator's page about its session: the visible customers, signing in and out. */
import { findGateway } from './findGateway.ts'
import type { DailyUse } from './quota.ts'

/** A customer that the operator may see. */
export type Customer = {
  readonly customerId: string
  readonly name: string
  readonly trackingKey: string
  /** The demo needs no key. */
  readonly demo: boolean
  /** Origin of its shop; null if the gateway knows none. */
  readonly origin: string | null
  readonly quota: DailyUse
}

export type Visible = {
  readonly customers: readonly Customer[]
  /** The gateway's clock, ms since 1970. */
  readonly serverNow: number
}

/**
 * @returns The customers that the operator may see; undefined if they must sign in.
 * @throws Error if the gateway gives no answer, or one with another status.
 */
export async function loadCustomers(): Promise<Visible | undefined> {
  const answer = await fetch('../live/customers', { headers: { accept: 'application/json' } })
  if (answer.status === 401) return undefined
  if (!answer.ok) throw new Error(`The gateway answered ${answer.status}`)
  const serverNow = Date.parse(answer.headers.get('date') ?? '') || Date.now()
  return { customers: await answer.json(), serverNow }
}

/** @returns Why the sign-in failed, as a sentence; '' if it succeeded. */
export async function signIn(customerId: string, restKey: string): Promise<string> {
  const answer = await post('../live/login', { customerId, restKey, path: findPath() }).catch(
    () => undefined,
  )
  if (!answer) return 'The gateway does not answer. Is it running?'
  if (answer.ok) return ''
  if (answer.status === 429) {
    const seconds = Number(answer.headers.get('retry-after')) || 5
    const wait = seconds === 1 ? 'a second' : `${seconds} seconds`
    return `Too many tries. Check the customer ID and the REST key, and try again in ${wait}.`
  }
  if (answer.status === 401 || answer.status === 404)
    return 'This customer ID and REST key do not belong together.'
  return `That did not work (${answer.status}).`
}

export const signOut = (): Promise<Response> => post('../live/logout', { path: findPath() })

/** The path of the gateway as this browser sees it, such as `/st/`. The cookie is for it alone. */
const findPath = (): string => new URL(`${findGateway()}/`).pathname

const post = (path: string, body: object): Promise<Response> =>
  fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
