import { CopyButton } from '../operator/copyButton.tsx'
import { counted, nameOf, number } from '../operator/numbers.ts'
import { clock, exactTime, span } from '../operator/time.ts'
import type { Destination, KindName } from './data.ts'

const KINDS: Record<KindName, string> = {
  service: 'Marketing service',
  webhook: 'Webhook',
  ga4: 'Google Analytics 4',
  file: 'Files by day',
}

/** The name that the operator has given it, else that of its kind. */
export const nameOfDestination = ({ name, kind }: Destination): string => name || KINDS[kind]

export type DestinationActions = {
  /** The destination whose dead letters are shown. */
  readonly chosen: string
  readonly isBusy: boolean
  readonly onChoose: (id: string) => void
  readonly onPause: (destination: Destination, isPaused: boolean) => void
}

/** The destinations of a customer, with what each does. */
export function Destinations({
  destinations,
  customer,
  ...actions
}: DestinationActions & {
  readonly destinations: readonly Destination[]
  readonly customer: string
}) {
  if (destinations.length === 0) return <None customer={customer} />
  return (
    <ul class="destinations" data-test="destinations">
      {destinations.map((destination) => (
        <Row key={destination.id} destination={destination} {...actions} />
      ))}
    </ul>
  )
}

function Row({
  destination,
  chosen,
  isBusy,
  onChoose,
  onPause,
}: DestinationActions & { readonly destination: Destination }) {
  const { id, kind, receives, state, letters } = destination
  const isPaused = state.name === 'paused'
  const title = nameOfDestination(destination)
  return (
    <li class="card destination" data-test="destination" data-state={state.name}>
      <div class="what">
        <h3>{title}</h3>
        <p class="hint">
          {title !== KINDS[kind] && `${KINDS[kind]} · `}
          <code>{receives || 'its settings are not valid any more'}</code>
          {' · '}
          <code>{id}</code>
        </p>
        <State destination={destination} />
        <Limits destination={destination} />
      </div>
      <Figures destination={destination} />
      <div class="buttons">
        <button
          type="button"
          aria-disabled={isBusy}
          onClick={() => onPause(destination, !isPaused)}
          aria-label={`${isPaused ? 'Resume' : 'Pause'} ${title}`}
          data-test="pause"
        >
          {isPaused ? 'Resume' : 'Pause'}
        </button>
        <button
          type="button"
          aria-expanded={chosen === id}
          disabled={letters === 0 && chosen !== id}
          onClick={() => onChoose(chosen === id ? '' : id)}
          data-test="show-letters"
        >
          {letters === 0 ? 'No dead letters' : counted(letters, 'dead letter')}
        </button>
      </div>
    </li>
  )
}

function State({ destination }: { readonly destination: Destination }) {
  const { state, lagEvents } = destination
  const { name, reason, nextAt, since } = state
  const texts = {
    running: lagEvents === 0 ? 'Up to date' : 'Sending',
    waiting: 'Waiting',
    paused: 'Paused',
    stopped: 'Stopped',
  }
  return (
    <p class="does" data-test="state-of" data-state={name}>
      <i aria-hidden="true" />
      <b>{texts[name]}</b>
      {name !== 'running' && since !== null && (
        <span>
          since <time title={exactTime(since)}>{clock(since)}</time>
        </span>
      )}
      {reason && <span class="reason">{reason}</span>}
      {nextAt !== null && (
        <span>
          tries again at <time title={exactTime(nextAt)}>{clock(nextAt)}</time>
        </span>
      )}
    </p>
  )
}

/** What it does not get, and what it gets beside the usual. */
function Limits({ destination }: { readonly destination: Destination }) {
  const { limits, leaveOut, takesCookieless, takesBots } = destination
  const texts = [
    limits !== '' && `Gets ${limits}`,
    leaveOut.length > 0 && `Without ${leaveOut.join(', ')}`,
    takesCookieless && 'With events without consent',
    takesBots && 'With events of bots',
  ].filter((text) => text !== false)
  return texts.length > 0 ? <p class="hint">{texts.join(' · ')}</p> : null
}

function Figures({ destination }: { readonly destination: Destination }) {
  const { lagEvents, lagMs, delivered, failed, lost } = destination
  return (
    <dl class="figures">
      <div>
        <dt>Lag</dt>
        <dd data-test="lag">
          {number(lagEvents)} <small>{nameOf(lagEvents, 'event')}</small>
          {lagEvents > 0 && <small>, {span(lagMs)}</small>}
        </dd>
      </div>
      <div>
        <dt>Delivered</dt>
        <dd data-test="delivered">{number(delivered)}</dd>
      </div>
      <div>
        <dt>Failed attempts</dt>
        <dd>{number(failed)}</dd>
      </div>
      {lost > 0 && (
        <div class="lost">
          <dt>Lost</dt>
          <dd data-test="lost">
            {number(lost)} <small>removed by the retention before they were sent</small>
          </dd>
        </div>
      )}
    </dl>
  )
}

/** Settings contain secrets, so destinations are made on the command line. */
function None({ customer }: { readonly customer: string }) {
  const command = `FORWARD_SECRET="$(cat secret.txt)" npx shoptrail forward add ${customer} --kind webhook --set url=https://shop.example/events`
  return (
    <section class="card none" data-test="no-destinations">
      <h3>No destination yet</h3>
      <p>
        A destination gets this customer’s events from the log, each at least once and in order for
        each device: the marketing service, a webhook, Google Analytics 4, or files for a warehouse.
        With <code>--operation all</code> it gets orders and subscribers too. It is added on the
        gateway’s machine, since its settings contain secrets:
      </p>
      <div class="paste">
        <code>{command}</code>
        <CopyButton text={command} label="Copy" />
      </div>
    </section>
  )
}
