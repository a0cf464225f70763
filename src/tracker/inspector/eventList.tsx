import type { TrackReporter } from '../global.d.ts'
import { durationText } from './askGateway.ts'
import { ElementButton } from './elementButton.tsx'
import { toExplanation, toText } from './explain.ts'
import { isProblem, type Life, type Step, stateOf, type TrackedEvent } from './model.ts'

/** What has reported an event, in words. */
const REPORTERS: { readonly [R in TrackReporter]: string } = {
  call: 'helper',
  attribute: 'attribute',
  pageView: 'page view',
  dataLayer: 'push',
  ga4: 'GA4 push',
  'ga4.gtag': 'gtag call',
  'ga4.ua': 'Universal Analytics push',
  schemaOrg: 'schema.org description',
}

export type EventListProps = {
  readonly events: readonly TrackedEvent[]
  readonly forgotten: number
  readonly keys: readonly string[]
  readonly expanded: ReadonlySet<number>
  readonly onlyProblems: boolean
  /** The key whose events are listed, '' for all. */
  readonly chosenKey: string
  readonly toggle: (number: number) => void
  readonly reveal: (number: number) => void
  readonly filter: (onlyProblems: boolean, chosenKey: string) => void
  readonly outline: (element: Element | undefined) => void
  readonly scrollTo: (element: Element) => void
}

export function EventList(props: EventListProps) {
  const { events, keys, onlyProblems, chosenKey, filter, forgotten } = props
  const listed = events.filter(
    (event) =>
      (!onlyProblems || isProblem(event)) &&
      (!chosenKey || event.lives.some(({ key }) => key === undefined || key === chosenKey)),
  )
  return (
    <>
      <div class="bar">
        <button type="button" aria-pressed={!onlyProblems} onClick={() => filter(false, chosenKey)}>
          All
        </button>
        <button type="button" aria-pressed={onlyProblems} onClick={() => filter(true, chosenKey)}>
          Problems <span class="count">{events.filter(isProblem).length}</span>
        </button>
        {keys.length > 1 && (
          <select
            aria-label="Tracking key"
            value={chosenKey}
            onChange={(event) => filter(onlyProblems, event.currentTarget.value)}
          >
            <option value="">all keys</option>
            {keys.map((key) => (
              <option key={key} value={key}>
                {key}
              </option>
            ))}
          </select>
        )}
      </div>
      {listed.length === 0 && (
        <p class="empty">
          {events.length === 0
            ? 'No event yet. Use the page: each event appears here.'
            : 'No such event.'}
        </p>
      )}
      <ol aria-label="Events, newest first">
        {listed.map((event) => (
          <EventRow key={event.number} event={event} {...props} />
        ))}
      </ol>
      {forgotten > 0 && <p class="empty">{forgotten} older events are not listed any more.</p>}
    </>
  )
}

const clock = (at: number) => {
  const date = new Date(at)
  const two = (part: number) => `${part}`.padStart(2, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${`${date.getMilliseconds()}`.padStart(3, '0')}`
}

/** The worst tone of an event's lives. */
const toneOf = (event: TrackedEvent) =>
  (['bad', 'warn', 'busy', 'good'] as const).find((tone) =>
    event.lives.some((life) => stateOf(life).tone === tone),
  ) ?? 'calm'

const reporterOf = ({ isEarlier, from, element, pushed }: TrackedEvent) =>
  isEarlier
    ? 'another page'
    : from
      ? REPORTERS[from]
      : element
        ? 'attribute'
        : pushed
          ? 'push'
          : 'helper'

function EventRow({
  event,
  ...props
}: Omit<EventListProps, 'events'> & { readonly event: TrackedEvent }) {
  const { number, at, operation, ownName, subject, element, lives } = event
  const { expanded, toggle, outline, keys } = props
  const isOpen = expanded.has(number)
  const leave = () => outline(undefined)
  return (
    <li class={`event ${toneOf(event)}`} data-number={number}>
      <button
        type="button"
        class="row"
        aria-expanded={isOpen}
        onClick={() => toggle(number)}
        onMouseEnter={() => outline(element)}
        onFocus={() => outline(element)}
        onMouseLeave={leave}
        onBlur={leave}
      >
        <i class="dot" />
        <span class="what">
          <b>{ownName || (operation ?? 'event')}</b> {subject}
        </span>
        <span class="states">
          {lives.map((life) => {
            const { tone, text } = stateOf(life)
            return (
              <span key={life.key} class={`state ${tone}`}>
                {keys.length > 1 && life.key !== undefined && <code>{life.key} </code>}
                {text}
              </span>
            )
          })}
        </span>
        <span class="by">
          {reporterOf(event)}
          {element && ` ${toText(element)}`}
          {ownName && operation && ` · ${operation}`}
        </span>
        <time>{clock(at)}</time>
      </button>
      {isOpen && <Details event={event} {...props} />}
    </li>
  )
}

function Details({
  event,
  keys,
  outline,
  scrollTo,
  reveal,
}: Omit<EventListProps, 'events'> & { readonly event: TrackedEvent }) {
  const { element, pushed, lives } = event
  return (
    <div class="more">
      {element && (
        <p>
          at <ElementButton element={element} outline={outline} scrollTo={scrollTo} />
        </p>
      )}
      {lives.map((life, index) => (
        <LifeDetails
          key={life.key}
          event={event}
          life={life}
          label={keys.length > 1 ? life.key : undefined}
          isRepeated={lives[index - 1]?.payload === life.payload}
          reveal={reveal}
        />
      ))}
      {pushed && (
        <>
          <h3>Pushed</h3>
          <pre>{pushed}</pre>
        </>
      )}
    </div>
  )
}

function LifeDetails({
  event,
  life,
  label,
  isRepeated,
  reveal,
}: {
  readonly event: TrackedEvent
  readonly life: Life
  readonly label: string | undefined
  readonly isRepeated: boolean
  readonly reveal: (number: number) => void
}) {
  const { steps, omitted, payload, problem, duplicateOf } = life
  const first = steps[0]?.at ?? event.at
  const words = problem && toExplanation(problem)
  return (
    <>
      {label && (
        <h3>
          Key <code>{label}</code>
        </h3>
      )}
      <ol class="life">
        {steps.map((step, index) => (
          <li key={index}>
            <time>{index ? `+${durationText(step.at - first)}` : clock(step.at)}</time>
            <span>
              {omitted > 0 && index === OMITTED_BEFORE && `(${omitted} steps before) `}
              {describeStep(step, life)}
            </span>
          </li>
        ))}
      </ol>
      {words && (
        <div class={`problem ${stateOf(life).tone}`}>
          <dl>
            {words.issues.map(({ path, message }) => (
              <>
                <dt>
                  <code>{path || 'payload'}</code>
                </dt>
                <dd>{message}</dd>
              </>
            ))}
            {duplicateOf && (
              <>
                <dt>of</dt>
                <dd>
                  <button type="button" class="place" onClick={() => reveal(duplicateOf.number)}>
                    {duplicateOf.operation} {duplicateOf.subject} ({reporterOf(duplicateOf)}
                    {duplicateOf.element && ` ${toText(duplicateOf.element)}`},{' '}
                    {durationText(event.at - duplicateOf.at)} before)
                  </button>
                </dd>
              </>
            )}
            {words.why && (
              <>
                <dt>why</dt>
                <dd>{words.why}</dd>
              </>
            )}
            {words.seen && (
              <>
                <dt>seen</dt>
                <dd>{words.seen}</dd>
              </>
            )}
            {words.fix && (
              <>
                <dt>fix</dt>
                <dd>{words.fix}</dd>
              </>
            )}
          </dl>
        </div>
      )}
      {payload && !isRepeated && (
        <>
          <h3>Payload</h3>
          <pre>{payload}</pre>
        </>
      )}
    </>
  )
}

/** The first steps of a long life are all there; the omitted ones come after them (model.ts). */
const OMITTED_BEFORE = 4

function describeStep({ kind, status }: Step, { problem }: Life): string {
  switch (kind) {
    case 'accepted':
      return 'checked and kept'
    case 'waits':
      return 'waits for consent, in memory'
    case 'sent':
      return 'being sent'
    case 'delivered':
      return 'delivered: the gateway has stored it'
    case 'held':
      return status
        ? `held: the request was answered ${status}, it is sent again`
        : 'held: no answer, it is sent again'
    case 'note':
      return `sent, but not all of it (${problem?.code})`
    default:
      return `dropped: ${problem?.reason ?? ''}${problem?.code ? ` (${problem.code})` : ''}`
  }
}
