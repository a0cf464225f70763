import {
  type Checked,
  type Operation,
  type Payload,
  toStoredOrder,
  validate,
} from '../../contract/index.ts'
import type { LogRecord } from '../collect/eventLog.ts'
import type { Destination } from './destination.ts'
import type { ForwardEvent } from './kind.ts'
import { type MergePatch, mergePatch } from './mergePatch.ts'

/** An event as a destination gets it, or why it can not get it. */
export type Prepared =
  | { readonly ok: true; readonly event: ForwardEvent }
  | { readonly ok: false; readonly reason: string }

/**
 * Takes out of an event what its destination must not get.
 *
 * @param patch Of a dead letter that was mended. The mended payload is checked like one that arrives. Default none.
 * @param findOrder The payload of an order by its number, JSON, as it was saved last. Default: no order is known.
 */
export function prepareEvent(
  record: LogRecord,
  { leaveOut }: Pick<Destination, 'leaveOut'>,
  patch?: MergePatch | null,
  findOrder: (number: string) => string | undefined = () => undefined,
): Prepared {
  const mended = readPayload(record, patch)
  if (!mended.ok) return mended
  const leftIn = (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => !leaveOut.includes(name)))
  // An order has its amounts twice, the second time in minor units.
  const withoutLeftOut = ({ minor, ...payload }: Fields): Fields =>
    leftIn(minor ? { ...payload, minor: leftIn(minor as Fields) } : payload)
  const { event, order_number } = mended.payload
  const order = typeof order_number === 'string' ? findOrder(order_number) : undefined
  const did = leaveOut.includes('did') ? null : record.did
  return {
    ok: true,
    event: {
      ...record,
      did: did === null ? null : textOr(mended.payload.did, did),
      event: textOr(event, record.event),
      payload: withoutLeftOut(mended.payload),
      ...(order !== undefined && { order: withoutLeftOut(JSON.parse(order) as Fields) }),
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

function readPayload(
  { payload, operation }: LogRecord,
  patch: MergePatch | null = null,
):
  | { readonly ok: true; readonly payload: Fields }
  | { readonly ok: false; readonly reason: string } {
  const stored = JSON.parse(payload) as Fields
  if (!patch) return { ok: true, payload: stored }
  const checked = check(operation as Operation, mergePatch(stored, patch))
  return checked.ok
    ? { ok: true, payload: checked.payload as Fields }
    : { ok: false, reason: `The mended payload is invalid: ${checked.error.message}` }
}

/** Checks a payload as it is stored. The minor units of an order follow from its amounts and its currency. */
function check(operation: Operation, payload: Fields): Checked<unknown> {
  const checked = validate(operation, payload)
  return checked.ok && operation === 'saveOrder'
    ? toStoredOrder(checked.payload as Payload<'saveOrder'>, `${payload.currency}`)
    : checked
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' ? value : otherwise
