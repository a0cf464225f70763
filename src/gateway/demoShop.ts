import { type Admission, declaredBytes } from './collect/admission.ts'
import { asObject } from './collect/verdicts.ts'
import type { CustomerLookup } from './customers/customerLookup.ts'
import { DEMO_CUSTOMER_ID } from './customers/demoCustomer.ts'
import { isLocal } from './http/address.ts'
import { answer, type Refusal, refuse } from './http/answers.ts'
import type { Body } from './http/body.ts'
import type { Query } from './http/query.ts'
import type { Connected } from './http/requestEnv.ts'
import { readOwnJson } from './operators/operators.ts'
import type { createOrderRoutes } from './orders/orderRoutes.ts'

export type DemoShopDependencies = {
  readonly calls: ReturnType<typeof createOrderRoutes>['calls']
  readonly customers: CustomerLookup
  readonly admission: Pick<Admission, 'call'>
  /** The clock, ms since 1970. */
  readonly now: () => number
}

/** Largest body, bytes: an order of the demo shop with all of its products has 4,000. */
export const MAX_DEMO_BYTES = 16_384
/** Order numbers count the seconds since then, so that no order of an earlier start gets the same number. */
const FIRST_NUMBER_AT = Date.UTC(2026, 0, 1)

type Handler = (request: Request, peer: string, context: Connected<'readBody'>) => Promise<Response>
type Given = { readonly request: Request } & Parameters<
  DemoShopDependencies['calls']['saveOrder']
>[0]

/**
 * The server of the demo shop, which the gateway plays in the demo. A real shop's server calls the API with its REST
 * key after it has saved an order. This one calls the same operations without a key, since the gateway knows only the
 * hash of it. Its pages have no key either.
 *
 * It answers only requests of this machine, and only JSON, which a page of another origin can not send.
 *
 * - POST /shop/server/order: an order without its number. Answers `{number}`. A real server takes the prices from its
 *   own products; this one takes those of the page, since it sells nothing.
 * - POST /shop/server/cancel: `{number}`, sets the status of the order to `cancelled`
 * - POST /shop/server/subscribe, POST /shop/server/unsubscribe: `{email}` and what else is known of the subscriber
 */
export function createDemoShop({ calls, customers, admission, now }: DemoShopDependencies) {
  let last = 0

  const serve =
    (act: (given: Given, json: Readonly<Record<string, unknown>>) => Promise<Response | Refusal>) =>
    async (...[request, peer, { env }]: Parameters<Handler>): Promise<Response> => {
      const customer = isLocal(request, peer) ? customers.find(DEMO_CUSTOMER_ID) : undefined
      if (!customer) return refuse(NOT_HERE)
      const limited = admission.call(customer, 1, declaredBytes(request, MAX_DEMO_BYTES))
      if (limited) return refuse(limited)
      const body = await readOwnJson(request, env.readBody, MAX_DEMO_BYTES)
      if (!body.ok) return refuse(body)
      const json = asObject(body.json) ?? {}
      const answered = await act({ customer, request, read: async () => body }, json)
      return answered instanceof Response ? answered : refuse(answered)
    }

  /** Two orders in one second get two numbers. */
  function nextNumber(): number {
    last = Math.max(last + 1, Math.floor((now() - FIRST_NUMBER_AT) / 1000))
    return last
  }

  return {
    order: serve(async (given, json) => {
      const number = nextNumber()
      const saved = await calls.saveOrder({
        ...given,
        read: async () => bodyOf({ ...json, number }),
      })
      return saved instanceof Response && saved.ok ? answer(200, { number }) : saved
    }),
    cancel: serve((given, { number }) =>
      calls.updateOrderStatus({
        ...given,
        query: noQuery,
        read: async () => bodyOf({ order_number: number, order_status: 'cancelled' }),
      }),
    ),
    subscribe: serve((given) => calls.addSubscriber(given)),
    unsubscribe: serve((given) => calls.removeSubscriber(given)),
  } satisfies Readonly<Record<string, Handler>>
}

const NOT_HERE: Refusal = {
  ok: false,
  status: 403,
  message: 'The demo shop is only for visitors on this machine',
}

/** Its bytes are counted already. */
const bodyOf = (json: unknown): Body => ({ ok: true, json, bytes: 0 })

const noQuery: Query = () => null
