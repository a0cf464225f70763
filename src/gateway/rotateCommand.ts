import type { Customer, Customers } from './customers/customers.ts'
import { type KeyKind, OVERLAP_RULE, OverlapLasts, readOverlap } from './customers/overlap.ts'
import { type Done, done, failed, misused } from './lib/command.ts'

/** Options of `customer rotate`, as they were typed. */
export type RotateOptions = {
  readonly key?: string | undefined
  readonly overlap?: string | undefined
  readonly end?: boolean | undefined
}

/** `customer rotate`: makes a new key, with an overlap or without, or ends the overlap. */
export function rotate(
  customers: Customers,
  id: string,
  { key, overlap, end }: RotateOptions,
): Done {
  if (key !== 'rest' && key !== 'tracking') return misused('Expected --key rest or --key tracking')
  if (end && overlap !== undefined) return misused('Expected only one of --overlap and --end')
  if (end)
    return customers.endOverlap(id, key)
      ? done(`Ended. The old ${NAMES[key]} does not work any more.`)
      : failed(`${id} has no old ${NAMES[key]} that still works`)
  const overlapMs = overlap === undefined ? 0 : readOverlap(overlap)
  if (overlapMs === undefined) return misused(`Expected --overlap in ${OVERLAP_RULE}: ${overlap}`)
  try {
    const made = customers.rotate(id, key, overlapMs) as string
    const old = overlapOf(customers.find(id) as Customer, key)
    return done(`${NAMES[key]}  ${made}`, '', ...explainOld(id, key, old?.until))
  } catch (error) {
    if (!(error instanceof OverlapLasts)) throw error
    return failed(
      `The old ${NAMES[key]} of ${id} works until ${toTime(error.until)}, and only one old key can. Wait, or end it at once: npx shoptrail customer rotate ${id} --key ${key} --end`,
    )
  }
}

const NAMES: Readonly<Record<KeyKind, string>> = { rest: 'restKey', tracking: 'trackingKey' }

function explainOld(id: string, key: KeyKind, until: number | undefined): string[] {
  const ends = until === undefined ? undefined : toTime(until)
  if (key === 'rest')
    return [
      ends
        ? `The old one works until ${ends}. To end it before: npx shoptrail customer rotate ${id} --key rest --end`
        : 'The old one does not work any more.',
      'This one can not be shown again.',
    ]
  return [
    ends
      ? `Pages with the old one can send events until ${ends}. Change their tag before that.`
      : 'Pages with the old one can not send events until their tag is changed.',
  ]
}

/** UTC, `2026-11-29 14:05:00Z`. */
const toTime = (ms: number): string =>
  new Date(ms).toISOString().replace('T', ' ').replace(/\.\d+/, '')

const overlapOf = ({ overlaps }: Customer, key: KeyKind) =>
  overlaps[key] && Date.now() < overlaps[key].until ? overlaps[key] : undefined

/** Lines of `customer list` about the old keys that still work. */
export function oldKeysOf(customer: Customer): string[] {
  const rest = overlapOf(customer, 'rest')
  const tracking = customer.overlaps.tracking
  return [
    ...(tracking && overlapOf(customer, 'tracking')
      ? [`  old key      ${tracking.value}, works until ${toTime(tracking.until)}`]
      : []),
    ...(rest ? [`  old restKey  works until ${toTime(rest.until)}`] : []),
  ]
}
