import type { TrackDropReason, TrackNotice, TrackReporter } from '../global.d.ts'
import { guard } from '../lib/guard.ts'
import { type Explained, HELD_FOR_CONSENT, isElement, ownEventName } from './explain.ts'
import { printValue } from './printValue.ts'

/*
 * What the panel shows: the events of the page and what has happened to each, from the script's notices. No DOM is read
 * here, and nothing of the page is changed.
 */

/** The most events that are kept. The oldest is forgotten first. */
const MAX_EVENTS = 300
/** The most of them that are from earlier pages: an outbox may hold thousands. */
const MAX_EARLIER = 50
/** The most steps of one event: an outage may last for hours. The first ones and the last ones are kept. */
const MAX_STEPS = 12
const FIRST_STEPS = 4
/** The ids of forgotten events, so that they are not taken for events of an earlier page. */
const MAX_FORGOTTEN = 2_000
/** The most characters of what tells one event from others of its operation. */
const MAX_SUBJECT = 80
/** A duplicate is of an event that was reported at most this long before: the longest duplicateWindowMs, ms. */
const MAX_WINDOW_MS = 60_000

/** The kinds of notices that are about an event. */
export type EventKind = 'accepted' | 'sent' | 'delivered' | 'held' | 'dropped'

/** What has happened to an event. `waits` for consent, `note` if something of it was not sent. */
export type StepKind = EventKind | 'waits' | 'note'

export type Step = {
  readonly kind: StepKind
  /** ms since 1970, by the browser's clock. */
  readonly at: number
  /** The HTTP status, 0 without an answer. */
  readonly status?: number | undefined
}

/** What has happened to an event for one tracking key. */
export type Life = {
  /** Undefined if the event is for no key: it could not be read, or it is no event. */
  readonly key: string | undefined
  /** The payload as printed text, '' if it is not known. */
  readonly payload: string
  /** Oldest first. */
  readonly steps: readonly Step[]
  /** The number of steps that are not in the list, after the first ones. */
  readonly omitted: number
  /** Why it was dropped, or is held. */
  readonly problem?: Explained | undefined
  /** For a duplicate: the event that was reported first. Undefined if it is not in the list. */
  readonly duplicateOf?: TrackedEvent | undefined
}

export type TrackedEvent = {
  /** Counts from 1 in the order of the reports. */
  readonly number: number
  readonly at: number
  /** Undefined for an event of an earlier page. */
  readonly operation: string | undefined
  /** The event's name, if it is not the usual one of its operation. */
  readonly ownName: string
  /** The most telling fields of the payload. */
  readonly subject: string
  readonly from: TrackReporter | undefined
  /** The element that reported it. */
  readonly element: Element | undefined
  /** The pushed object as printed text, as it was then. */
  readonly pushed: string | undefined
  /** Whether another page has reported it: an earlier one, or one of another tab. */
  readonly isEarlier: boolean
  /** One for each key of the page. */
  readonly lives: readonly Life[]
}

export type Model = {
  /** Adds a notice of the script, or of the inspector itself. @param at ms since 1970. */
  add(kind: EventKind, notice: TrackNotice, at: number): void
  /** Newest first. */
  events(): readonly TrackedEvent[]
  /** How often requests with this event were made. */
  tries(id: string, key: string): number
  /** The operations of accepted events of this page. */
  operations(): ReadonlySet<string>
  /** The number of events that are no longer in the list, and of those of earlier pages that never were. */
  forgotten(): number
}

type OwnLife = { -readonly [K in keyof Life]: Life[K] } & {
  steps: Step[]
  /** The payload itself, and what makes it a duplicate. */
  readonly given: unknown
  readonly subject: string
}
type OwnEvent = Omit<TrackedEvent, 'lives'> & {
  /** '' if there is no event. */
  readonly id: string
  /** The payload for the first key. */
  readonly given: unknown
  readonly lives: OwnLife[]
}

/** @param payloadOf The stored payload of an event of an earlier page, as JSON. Called once for each. */
export function createModel(
  payloadOf: (id: string, key: string | undefined) => string | undefined,
): Model {
  /** Oldest first. */
  const all: OwnEvent[] = []
  const byId = new Map<string, OwnEvent>()
  const gone = new Set<string>()
  const operations = new Set<string>()
  let count = 0
  let earlier = 0
  let forgotten = 0

  const forget = (event: OwnEvent | undefined) => {
    if (!event) return
    all.splice(all.indexOf(event), 1)
    forgotten++
    if (event.isEarlier) earlier--
    if (!event.id) return
    byId.delete(event.id)
    gone.add(event.id)
    if (gone.size > MAX_FORGOTTEN) gone.delete([...gone][0] ?? '')
  }

  const create = (notice: TrackNotice, at: number, isEarlier: boolean): OwnEvent => {
    const { id = '', key, operation, from, where } = notice
    const stored = isEarlier ? payloadOf(id, key) : undefined
    const payload = stored === undefined ? notice.payload : guard(() => JSON.parse(stored))
    const event: OwnEvent = {
      id,
      given: payload,
      number: ++count,
      at,
      operation,
      ownName: isEarlier
        ? textOf(field(payload, 'event'))
        : ownEventName(notice).replace(/[ "]/g, ''),
      subject: subjectOf(payload),
      from,
      element: isElement(where) ? where : undefined,
      pushed: where === undefined || isElement(where) ? undefined : printValue(where),
      isEarlier,
      lives: [],
    }
    all.push(event)
    if (id) byId.set(id, event)
    if (isEarlier && ++earlier > MAX_EARLIER) forget(all.find((other) => other.isEarlier))
    if (all.length > MAX_EVENTS) forget(all[0])
    return event
  }

  const lifeOf = (event: OwnEvent, { key, payload }: TrackNotice): OwnLife => {
    const known = event.lives.find((life) => life.key === key)
    if (known) return known
    const given = payload ?? event.given
    const life: OwnLife = {
      key,
      given,
      payload: given === undefined ? '' : printValue(guard(() => ownFirst(given), given)),
      subject: keyOf(given),
      steps: [],
      omitted: 0,
    }
    event.lives.push(life)
    return life
  }

  const addStep = (life: OwnLife, step: Step) => {
    life.steps.push(step)
    if (life.steps.length <= MAX_STEPS) return
    life.steps.splice(FIRST_STEPS, 1)
    life.omitted++
  }

  /** The event that a duplicate repeats: the last one of this key with the same name and subject that was accepted. */
  const findFirst = (event: OwnEvent, { key, subject }: OwnLife) =>
    [...all]
      .reverse()
      .find(
        (other) =>
          other !== event &&
          event.at - other.at <= MAX_WINDOW_MS &&
          other.lives.some(
            (life) =>
              life.key === key && life.subject === subject && life.steps[0]?.kind === 'accepted',
          ),
      )

  return {
    add(kind, notice, at) {
      const { id, reason, status, operation } = notice
      if (id && gone.has(id)) return
      const isEarlier = !!id && kind !== 'accepted' && operation === undefined
      const event = (id && byId.get(id)) || create(notice, at, isEarlier)
      const life = lifeOf(event, notice)
      const isNote = kind === 'dropped' && !reason
      const waits = kind === 'held' && reason === 'no_consent'
      addStep(life, { kind: isNote ? 'note' : waits ? 'waits' : kind, at, status })
      if (kind === 'accepted' && operation) operations.add(operation)
      life.problem =
        kind === 'held' || kind === 'dropped'
          ? {
              operation: event.operation,
              payload: life.given,
              ...notice,
              ...(waits && { code: HELD_FOR_CONSENT }),
              reason: kind === 'held' ? 'held' : reason,
            }
          : undefined
      if (reason === 'duplicate') life.duplicateOf = findFirst(event, life)
    },
    events: () => [...all].reverse(),
    tries: (id, key) =>
      byId
        .get(id)
        ?.lives.find((life) => life.key === key)
        ?.steps.filter((step) => step.kind === 'sent').length ?? 0,
    operations: () => operations,
    forgotten: () => forgotten,
  }
}

/** The state of an event for a key, in one word for the colour and a few for the reader. */
export type State = {
  readonly tone: 'good' | 'busy' | 'warn' | 'bad' | 'calm'
  readonly text: string
}

/** Reasons that are no fault of the page. */
const CALM: readonly (TrackDropReason | undefined)[] = ['duplicate', 'no_consent', 'ignored']

export function stateOf({ steps, problem }: Life): State {
  const last = steps[steps.length - 1]
  switch (last?.kind) {
    case 'accepted':
      return { tone: 'busy', text: 'kept' }
    case 'sent':
      return { tone: 'busy', text: 'being sent' }
    case 'delivered': {
      const first = steps.find(({ kind }) => kind === 'accepted')
      return { tone: 'good', text: `delivered${first ? ` · ${last.at - first.at} ms` : ''}` }
    }
    case 'waits':
      return { tone: 'warn', text: 'waits for consent' }
    case 'held':
      return { tone: 'warn', text: `held · ${last.status || 'no answer'}` }
    case 'note':
      return { tone: 'warn', text: 'incomplete' }
    default: {
      const reason = problem?.reason as TrackDropReason | undefined
      return { tone: CALM.includes(reason) ? 'calm' : 'bad', text: reason ?? 'dropped' }
    }
  }
}

/** Whether somebody should look at an event. */
export const isProblem = ({ lives }: TrackedEvent): boolean =>
  lives.some((life) => /bad|warn/.test(stateOf(life).tone))

/** A field of a payload. Undefined for a getter, and if a proxy of the page throws. */
const field = (payload: unknown, name: string): unknown =>
  guard(() => Object.getOwnPropertyDescriptor(Object(payload), name)?.value)

/** A text or a number as text. Other values, which an invalid payload may contain, have none: `toString` may throw. */
const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? `${value}` : ''

/** The most telling fields: the product with its quantity, the search term, the e-mail address, the page. */
function subjectOf(payload: unknown): string {
  const of = (name: string) => textOf(field(payload, name))
  const [product, quantity] = [of('product_id'), of('quantity')]
  const text = product
    ? `#${product}${quantity && ` × ${quantity}`}`
    : of('search_term') ||
      of('email_address') ||
      of('email') ||
      of('url').replace(/^https?:\/\/[^/]*/, '')
  return text.slice(0, MAX_SUBJECT)
}

/** Fields of visitor and page, which every payload has. */
const COMMON = ['did', 'url', 'http_user_agent', 'remote_addr', 'source']

/** The payload with the common fields at its end, so that what matters is seen first. */
function ownFirst(payload: unknown): unknown {
  if (!payload || typeof payload !== 'object' || Array.isArray(payload)) return payload
  const names = Object.keys(payload)
  return Object.fromEntries(
    [
      ...names.filter((name) => !COMMON.includes(name)),
      ...names.filter((name) => COMMON.includes(name)),
    ].map((name) => [name, field(payload, name)]),
  )
}

/** Equal for two reports of the same action: the rule of duplicates.ts, without the variation and the quantity. */
const keyOf = (payload: unknown): string =>
  ['event', 'product_id', 'search_term', 'email_address', 'email']
    .map((name) => textOf(field(payload, name)))
    .join('\n')
