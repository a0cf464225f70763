import {
  array,
  boolean,
  custom,
  type GenericSchema,
  type InferOutput,
  integer,
  maxLength,
  minValue,
  number,
  object,
  optional,
  pipe,
  safeParse,
  string,
} from 'valibot'
import type { EventLog } from '../collect/eventLog.ts'
import { asObject } from '../collect/verdicts.ts'
import type {
  DestinationStatus,
  Forwarding,
  LetterFilter,
  LettersChanged,
} from '../forward/forwarding.ts'
import { describeOperations } from '../forward/operations.ts'
import { prepareEvent } from '../forward/prepareEvent.ts'
import { answer, type Refusal, refuse } from '../http/answers.ts'
import type { Connected } from '../http/requestEnv.ts'
import { createSemaphore } from '../http/semaphore.ts'
import { type Operators, readOwnJson } from './operators.ts'

export type ForwardPageDependencies = {
  readonly forwarding: Forwarding
  readonly log: Pick<EventLog, 'read'>
  readonly operators: Operators
}

/** Answers have payloads, which may be large. */
const REQUESTS = {
  permits: 8,
  permitsOfOne: 2,
  maxWaiting: 40,
  waitMs: 5_000,
  message: 'Other requests of this customer are running',
}
/** Largest body: a patch of 16 KiB, and what it is for. */
const MAX_BODY_BYTES = 32_768
/** The most letters of a page, and that are chosen at once. */
const MAX_LETTERS = 20
/** The most letters whose mended payload is shown. */
const MAX_PREVIEWED = 5

const destination = pipe(string(), maxLength(64))
/** Letters by their positions, or all of a filter. */
const which = {
  destination,
  seqs: optional(pipe(array(pipe(number(), integer(), minValue(1))), maxLength(MAX_LETTERS))),
  operation: optional(string()),
  reason: optional(string()),
}
/** A patch takes the place of an earlier one. Null: none. */
const patch = custom<Readonly<Record<string, unknown>> | null>(
  (value) => value === null || asObject(value) !== undefined,
  'Expected an object or null',
)

const ONE = object(which)
const READ = object({ ...which, after: optional(pipe(number(), integer())) })
const MEND = object({ ...which, patch })
const DISCARD = object({ ...which, discard: optional(boolean()) })
const PAUSE = object({ destination, isPaused: boolean() })

type Which = InferOutput<typeof ONE>

const NO_DESTINATION: Refusal = {
  ok: false,
  status: 404,
  message: 'This destination was removed',
}

/**
 * The data of the forwarding page, for operators who may see the customer of `?customer=ID`: 401 without a sign-in, 403
 * for another customer, 404 for a destination that this customer does not have. Nothing that is asked for is in an
 * address, since reasons may contain personal data, and addresses are logged by proxies. No answer contains the
 * settings of a destination.
 *
 * - GET /forward/data/list: `{data}`, the destinations with their state
 * - POST /forward/data/pause, `{destination, isPaused}`
 *
 * The others are for dead letters: `{destination}` with `seqs`, a list of positions, or with `operation` and `reason`.
 *
 * - POST /forward/data/letters, with `after`: a LetterPage of at most 20
 * - POST /forward/data/preview, with `patch`: `{data}`, the first five payloads before and after it
 * - POST /forward/data/mend, with `patch`
 * - POST /forward/data/replay
 * - POST /forward/data/discard, with `"discard": true`
 *
 * The last three answer `{count}`. Rejects with TooMany, and with Unavailable.
 */
export function createForwardPages({ forwarding, log, operators }: ForwardPageDependencies) {
  const requests = createSemaphore(REQUESTS)

  async function list(request: Request, peer: string): Promise<Response> {
    const watched = operators.findWatched(request, peer)
    if (!watched.ok) return refuse(watched)
    const statuses = await forwarding.list(watched.customerId)
    return answer(200, { data: statuses.map(show) })
  }

  /** A handler of a POST: `act` returns the answer, undefined if there is no such destination, or a refusal. */
  const posting =
    <Body>(
      schema: GenericSchema<unknown, Body>,
      act: (customer: string, body: Body) => Promise<object | undefined>,
    ) =>
    async (request: Request, peer: string, { env }: Connected<'readBody'>): Promise<Response> => {
      const watched = operators.findWatched(request, peer)
      if (!watched.ok) return refuse(watched)
      const read = await readOwnJson(request, env.readBody, MAX_BODY_BYTES)
      if (!read.ok) return refuse(read)
      const { success, output, issues } = safeParse(schema, read.json)
      if (!success) return refuse(unreadable(issues[0]))
      const release = await requests.acquire(watched.customerId)
      try {
        const found = await act(watched.customerId, output)
        if (found === undefined) return refuse(NO_DESTINATION)
        return isRefusal(found) ? refuse(found) : answer(200, found)
      } finally {
        release()
      }
    }

  /** Changes the letters, one after the other if they are named. */
  async function changeLetters(
    body: Which,
    change: (filter: LetterFilter) => Promise<LettersChanged | undefined>,
  ): Promise<object | undefined> {
    let count = 0
    for (const filter of filtersOf(body)) {
      const changed = await change(filter)
      if (!changed) return undefined
      if (!changed.ok) return { ok: false, status: 422, message: changed.fault } satisfies Refusal
      count += changed.count
    }
    return { count }
  }

  async function findLetters(customer: string, body: Which, max: number) {
    const pages = await Promise.all(
      filtersOf(body).map((filter) =>
        forwarding.letters(customer, body.destination, { ...filter, max }),
      ),
    )
    return pages.every((page) => page !== undefined)
      ? pages.flatMap(({ letters }) => letters).slice(0, max)
      : undefined
  }

  async function preview(
    customer: string,
    body: InferOutput<typeof MEND>,
  ): Promise<object | undefined> {
    const statuses = await forwarding.list(customer)
    const status = statuses.find(({ destination }) => destination.id === body.destination)
    const letters = await findLetters(customer, body, MAX_PREVIEWED)
    if (!status || !letters) return undefined
    const data = []
    for (const { seq, operation, payload } of letters) {
      const [found] = await log.read({ customer, after: seq - 1, max: 1 })
      // The retention or an erasure has just removed it.
      if (found?.seq !== seq) continue
      const mended = prepareEvent(found, status.destination, body.patch)
      data.push({
        seq,
        operation,
        before: payload,
        ...(mended.ok ? { after: mended.event.payload } : { fault: mended.reason }),
      })
    }
    return { data }
  }

  return {
    list,
    pause: posting(PAUSE, async (customer, { destination, isPaused }) => {
      const changed = await forwarding.change(customer, destination, { isPaused })
      if (!changed) return undefined
      return changed.ok
        ? {}
        : ({ ok: false, status: 422, message: changed.faults.join('. ') } satisfies Refusal)
    }),
    letters: posting(READ, (customer, { destination, operation, reason, after }) =>
      forwarding.letters(customer, destination, { operation, reason, after, max: MAX_LETTERS }),
    ),
    preview: posting(MEND, preview),
    mend: posting(MEND, (customer, body) =>
      changeLetters(body, (filter) =>
        forwarding.mend(customer, body.destination, body.patch, filter),
      ),
    ),
    replay: posting(ONE, (customer, body) =>
      changeLetters(body, (filter) => forwarding.replay(customer, body.destination, filter)),
    ),
    discard: posting(DISCARD, async (customer, body) =>
      body.discard === true
        ? changeLetters(body, (filter) => forwarding.discard(customer, body.destination, filter))
        : NOT_CONFIRMED,
    ),
  }
}

const NOT_CONFIRMED: Refusal = {
  ok: false,
  status: 422,
  message: 'This can not be undone. Expected "discard": true to confirm it',
}

const isRefusal = (found: object): found is Refusal => 'ok' in found && found.ok === false

const filtersOf = ({ seqs, operation, reason }: Which): LetterFilter[] =>
  seqs ? seqs.map((seq) => ({ seq })) : [{ operation, reason }]

/** What an operator sees of a destination. Its settings are left out: an address may be a password. */
function show({ destination, ...status }: DestinationStatus): object {
  const { id, kind, name, receives, operations, leaveOut, takesCookieless, takesBots } = destination
  const limits = operations.length > 0 ? describeOperations(operations) : ''
  return { id, kind, name, receives, limits, leaveOut, takesCookieless, takesBots, ...status }
}

function unreadable(issue: {
  readonly message: string
  readonly path?: readonly { key: unknown }[] | undefined
}): Refusal {
  const path = (issue.path ?? []).map(({ key }) => String(key)).join('.')
  return { ok: false, status: 422, message: path ? `${path}: ${issue.message}` : issue.message }
}
