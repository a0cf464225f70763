import type { ReportFigures } from '../gateway/campaigns/report.ts'
import type { ReportView } from '../gateway/campaigns/reportView.ts'
import type { Utm } from '../gateway/campaigns/utm.ts'
import type { LogEvent } from '../gateway/collect/eventLog.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

type Sold = { orders: number; cents: bigint }
type Visit = {
  readonly at: number
  readonly id: string
  readonly utm: string
  readonly key: string
}
type Order = {
  readonly at: number
  readonly total: number
  readonly currency: string
  readonly email: string
  readonly status: string | undefined
}

/**
 * The reports of a customer by the rules of docs/decisions.md, "Attribution", from all events at once and without any
 * code of the reports. For tests: the answer that is right.
 *
 * @param events In the order of the log.
 */
export function createNaiveReports(events: readonly LogEvent[], customer: string) {
  const ids = new Set<string>()
  /** The events of each device in their order. A bot is a device of its own. */
  const devices = new Map<string, { at: number; id: string; event: LogEvent; utm: string }[]>()
  const saves = new Map<string, LogEvent[]>()
  const statuses = new Map<string, string>()
  /** The first time when a device gave an address, by address and device. */
  const given = new Map<string, Map<string, number>>()
  for (const event of events) {
    if (event.customer !== customer || ids.has(event.id)) continue
    ids.add(event.id)
    const payload = JSON.parse(event.payload)
    if (event.operation === 'saveOrder') push(saves, payload.number, event)
    else if (event.operation === 'updateOrderStatus')
      statuses.set(payload.order_number, payload.order_status.trim().toLowerCase())
    if (event.did === null) continue
    const key = `${event.bot ? 'bot' : 'person'} ${event.did}`
    push(devices, key, { at: event.at, id: event.id, event, utm: utmKeyOf(payload.url) })
    const email = payload.email_address ?? payload.email
    if (email === undefined) continue
    const by = given.get(email.toLowerCase()) ?? new Map<string, number>()
    given.set(email.toLowerCase(), by)
    by.set(key, Math.min(by.get(key) ?? event.at, event.at))
  }
  const visits = new Map<string, Visit[]>()
  for (const [key, trail] of devices) {
    trail.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
    visits.set(
      key,
      trail.filter(({ utm }) => utm !== '').map(({ at, id, utm }) => ({ at, id, utm, key })),
    )
  }
  const orders = [...saves].map(([number, some]): Order => {
    const { total, currency, email } = readSave(some.at(-1) as LogEvent)
    const at = Math.min(...some.map((event) => event.at))
    return { at, total, currency, email, status: statuses.get(number) }
  })
  const credited = orders.map((order) => ({ order, visit: visitOf(order) }))

  /** People win against bots, then the latest visit. */
  function visitOf({ at, email }: Order): Visit | undefined {
    const found = [...(given.get(email.toLowerCase()) ?? [])]
      .filter(([, first]) => first <= at + HOUR_MS)
      .flatMap(([key]) => visits.get(key) ?? [])
      .filter((visit) => visit.at <= at && visit.at >= at - 7 * DAY_MS)
    const people = found.filter(({ key }) => key.startsWith('person'))
    return (people.length > 0 ? people : found).sort(
      (a, b) => b.at - a.at || (a.id < b.id ? 1 : -1),
    )[0]
  }

  return {
    /** How many orders are credited to a visit. */
    credited: credited.filter(({ visit }) => visit).length,
    read(tracking: Utm, view: ReportView): ReportFigures {
      const utm = keyOf(tracking)
      const dateOf = createDates(view.timeZone)
      const counted = [...devices].flatMap(([key, trail]) => {
        let visit: { at: number; utm: string } | undefined
        return trail.flatMap((event) => {
          if (event.utm !== '') visit = event
          const counts = visit?.utm === utm && event.at - visit.at <= 7 * DAY_MS
          return counts ? [{ ...event.event, key }] : []
        })
      })
      const isPerson = ({ key }: { key: string }) => key.startsWith('person')
      const shown = view.bots ? counted : counted.filter(isPerson)
      const bots = counted.filter((event) => !isPerson(event))
      const sold = credited.flatMap(({ order, visit }) =>
        visit?.utm === utm && (view.bots || isPerson(visit)) ? [{ ...order, key: visit.key }] : [],
      )
      const own = sold.filter(({ currency }) => currency === view.currency)
      const others = sold.filter(({ currency }) => currency !== view.currency)
      const refunds = own.filter(
        ({ status }) => status !== undefined && view.refundStatuses.includes(status),
      )
      const devicesOf = (some: readonly { key: string }[]) =>
        new Set(some.map(({ key }) => key)).size
      const of = (...operations: string[]) =>
        shown.filter(({ operation }) => operations.includes(operation))
      const byDate = groupBy(shown, ({ at }) => dateOf(at))
      const soldByDate = groupBy(own, ({ at }) => dateOf(at))
      const dates = [...byDate.keys(), ...soldByDate.keys()].sort()
      const from = dates[0] ?? null
      const to = dates.at(-1) ?? null
      const days = []
      for (let at = Date.parse(`${from}`); at <= Date.parse(`${to}`); at += DAY_MS) {
        const date = new Date(at).toISOString().slice(0, 10)
        const onDay = byDate.get(date) ?? []
        const count = (name: string) => onDay.filter(({ operation }) => operation === name).length
        days.push({
          date,
          visitors: devicesOf(onDay),
          add_to_cart: count('addToCart'),
          initiate_checkout: count('initiateCheckout'),
          ...sum(soldByDate.get(date) ?? [], view.currency),
        })
      }
      const visitors = devicesOf(shown)
      const cents = own.reduce((all, { total }) => all + BigInt(total), 0n)
      const byStatus = (some: typeof sold) =>
        sums(
          groupBy(some, ({ status }) => status ?? '(none)'),
          view.currency,
        )
      return {
        time_zone: view.timeZone,
        currency: view.currency,
        from,
        to,
        visitors,
        identified: devicesOf(of('setEmail', 'sendCustom')),
        events: Object.fromEntries(
          [...groupBy(shown, ({ event }) => event)].map(([name, some]) => [name, some.length]),
        ),
        funnel: {
          view_product: devicesOf(of('viewProduct')),
          add_to_cart: devicesOf(of('addToCart')),
          initiate_checkout: devicesOf(of('initiateCheckout')),
          order: devicesOf(sold),
        },
        days,
        ...sum(own, view.currency),
        average_order: amount(average(cents, own.length), view.currency),
        revenue_per_visitor: amount(average(cents, visitors), view.currency),
        refunds: { ...sum(refunds, view.currency), statuses: byStatus(refunds) },
        statuses: byStatus(own),
        other_currencies: Object.fromEntries(
          [...groupBy(others, ({ currency }) => currency)].map(([currency, some]) => [
            currency,
            sum(some, currency),
          ]),
        ),
        bots: { visitors: devicesOf(bots), events: bots.length, included: view.bots },
      }
    },
  }
}

function push<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

function groupBy<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) push(groups, keyOf(one), one)
  return groups
}

const keyOf = ({ utm_campaign, utm_medium, utm_source }: Utm): string =>
  JSON.stringify([utm_campaign, utm_medium, utm_source])

/** The utm values of an address. Empty if it has none. */
function utmKeyOf(url: string | undefined): string {
  if (url === undefined) return ''
  const query = new URL(url).searchParams
  const values = ['utm_campaign', 'utm_medium', 'utm_source'].map((name) => query.get(name) ?? '')
  return values.some(Boolean) ? JSON.stringify(values) : ''
}

function readSave({ payload }: LogEvent) {
  const { email_address: email, currency, minor } = JSON.parse(payload)
  return { email, currency, total: minor.total_value }
}

/** Dates of a time zone, each quarter of an hour by Intl: no offset of today changes between two of them. */
function createDates(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone, year: 'numeric', month: '2-digit', day: '2-digit' },
  })
  const dates = new Map<number, string>()
  return (at) => {
    const quarter = Math.floor(at / 900_000)
    const date = dates.get(quarter) ?? format.format(at)
    dates.set(quarter, date)
    return date
  }
}

const DIGITS: { readonly [currency: string]: number } = { EUR: 2, RON: 2, JPY: 0, KWD: 3 }

function amount(minor: bigint, currency: string): string {
  const digits = DIGITS[currency] as number
  const unit = 10n ** BigInt(digits)
  const positive = minor < 0n ? -minor : minor
  const rest = digits === 0 ? '' : `.${`${positive % unit}`.padStart(digits, '0')}`
  return `${minor < 0n ? '-' : ''}${positive / unit}${rest}`
}

/** Rounded, halves away from zero. */
function average(minor: bigint, count: number): bigint {
  if (count === 0) return 0n
  const positive = minor < 0n ? -minor : minor
  const whole = positive / BigInt(count)
  const rounded = 2n * (positive % BigInt(count)) >= BigInt(count) ? whole + 1n : whole
  return minor < 0n ? -rounded : rounded
}

function sum(some: readonly Pick<Order, 'total'>[], currency: string) {
  const sold: Sold = { orders: some.length, cents: 0n }
  for (const { total } of some) sold.cents += BigInt(total)
  return { orders: sold.orders, revenue: amount(sold.cents, currency) }
}

const sums = (groups: Map<string, Pick<Order, 'total'>[]>, currency: string) =>
  Object.fromEntries([...groups].map(([name, some]) => [name, sum(some, currency)]))
