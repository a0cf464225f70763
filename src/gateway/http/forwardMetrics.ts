import { Counter, Gauge, type Registry } from 'prom-client'

/** The figures of one destination. */
export type ForwardFigures = {
  readonly id: string
  readonly state: string
  /** Events after its position in the log, and how long the oldest of them has waited. */
  readonly lagEvents: number
  readonly lagMs: number
  /** Since it was added. */
  readonly delivered: number
  readonly failed: number
  readonly lost: number
  /** Dead letters that are kept now. */
  readonly letters: number
}

/** The most destinations with a label of their own: those that were added first. The others are one, OTHERS. */
export const SHOWN_DESTINATIONS = 200
export const OTHERS = '(other)'

/**
 * Adds the metrics of the destinations. They are those of the data folder: each of several gateways over it has the
 * same ones.
 *
 * @param list The figures of all destinations, in a fixed order. If it rejects, the metrics are absent; the thread that
 * it asks reports why.
 */
export function addForwardMetrics(
  registers: Registry[],
  list: () => Promise<readonly ForwardFigures[]>,
): void {
  let reading: Promise<readonly ForwardFigures[]> | undefined
  /** One read for all metrics of an answer. */
  function read(): Promise<readonly ForwardFigures[]> {
    reading ??= list()
      .then(limit, () => [])
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  const gauge = (name: string, help: string, figureOf: (figures: ForwardFigures) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['destination'], registers },
      async collect() {
        const all = await read()
        this.reset()
        for (const figures of all) this.set({ destination: figures.id }, figureOf(figures))
      },
    })
  const counter = (name: string, help: string, figureOf: (figures: ForwardFigures) => number) =>
    new Counter({
      ...{ name, help, labelNames: ['destination'], registers },
      async collect() {
        const all = await read()
        this.reset()
        for (const figures of all) this.inc({ destination: figures.id }, figureOf(figures))
      },
    })

  gauge(
    'forward_lag_events',
    'Events in the log after the position of a destination',
    ({ lagEvents }) => lagEvents,
  )
  gauge(
    'forward_lag_seconds',
    'How long the oldest event that a destination has not got has been in the log',
    ({ lagMs }) => lagMs / 1000,
  )
  gauge(
    'forward_dead_letters',
    'Events that a destination has finally refused, and that wait for an operator',
    ({ letters }) => letters,
  )
  counter(
    'forward_delivered_total',
    'Events that a destination has taken',
    ({ delivered }) => delivered,
  )
  counter(
    'forward_failed_total',
    'Attempts to send an event to a destination that have failed, and are repeated',
    ({ failed }) => failed,
  )
  counter(
    'forward_lost_total',
    'Events that the retention has removed before a destination has got them',
    ({ lost }) => lost,
  )
  new Gauge({
    name: 'forward_destinations',
    help: 'Destinations by state. Those that are stopped need an operator',
    labelNames: ['state'],
    registers,
    async collect() {
      const all = await list().catch(() => [])
      this.reset()
      for (const { state } of all) this.inc({ state })
    },
  })
}

/** Joins those that have no label of their own. */
function limit(all: readonly ForwardFigures[]): readonly ForwardFigures[] {
  const others = all.slice(SHOWN_DESTINATIONS)
  if (others.length === 0) return all
  const sum = (figureOf: (figures: ForwardFigures) => number) =>
    others.reduce((total, figures) => total + figureOf(figures), 0)
  return [
    ...all.slice(0, SHOWN_DESTINATIONS),
    {
      id: OTHERS,
      state: OTHERS,
      lagEvents: sum(({ lagEvents }) => lagEvents),
      lagMs: Math.max(...others.map(({ lagMs }) => lagMs)),
      delivered: sum(({ delivered }) => delivered),
      failed: sum(({ failed }) => failed),
      lost: sum(({ lost }) => lost),
      letters: sum(({ letters }) => letters),
    },
  ]
}
