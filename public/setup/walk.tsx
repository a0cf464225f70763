/** The walk through the shop: each of the eleven operations is ticked off as it arrives. */
import { useEffect, useState } from 'preact/hooks'
import { nameOperation } from '../operator/kinds.ts'
import { Sign } from '../operator/signs.tsx'
import { clock } from '../operator/time.ts'
import { withInspector } from './address.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import { Paste } from './paste.tsx'
import type { Operation, Step } from './steps.ts'

type Props = {
  readonly steps: readonly Step[]
  readonly arrivals: Arrivals
  readonly find: (page: NonNullable<Step['page']>) => Found
}

/** The address to open for a step; `isFound` if it is of the right kind of page, else it is the shop's. */
export type Found = { readonly url: string; readonly isFound: boolean }

export function Walk({ steps, arrivals, find }: Props) {
  const operations = steps.map(({ operation }) => operation)
  const next = arrivals.next(operations)
  const count = arrivals.count(operations)
  const [opened, setOpened] = useState<Operation | undefined>(next)
  useEffect(() => setOpened(next), [next])
  return (
    <section class="card walk" aria-labelledby="walk-title">
      <div class="title">
        <h3 id="walk-title">Walk through the shop</h3>
        <b data-test="progress">
          {count} of {steps.length}
        </b>
      </div>
      <p class="hint" role="status" data-test="waiting">
        {count === 0 && 'Waiting for the first event. Open a page of the shop in another tab.'}
        {count > 0 && next && `Next: ${nameOperation(next)}.`}
        {!next && 'Every operation arrives.'}
      </p>
      <ol class="steps">
        {steps.map((step) => (
          <Row
            key={step.operation}
            step={step}
            arrival={arrivals.find(step.operation)}
            isOpen={step.operation === opened}
            onToggle={() => setOpened(step.operation === opened ? undefined : step.operation)}
            find={find}
          />
        ))}
      </ol>
    </section>
  )
}

function Row({
  step,
  arrival,
  isOpen,
  onToggle,
  find,
}: {
  readonly step: Step
  readonly arrival: Arrival | undefined
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly find: Props['find']
}) {
  const { operation } = step
  const state = arrival ? (arrival.isFresh ? 'arrived' : 'before') : 'waiting'
  return (
    <li data-state={state} data-test={`step-${operation}`}>
      <button type="button" class="name" aria-expanded={isOpen} onClick={onToggle}>
        <i class="tick">{arrival && <Sign name="check" />}</i>
        <Sign name={operation} kind={operation} />
        <b>{nameOperation(operation)}</b>
        <span>{describeArrival(arrival)}</span>
      </button>
      {isOpen && <How step={step} place={step.page && find(step.page)} />}
    </li>
  )
}

function describeArrival(arrival: Arrival | undefined): string {
  if (!arrival) return 'not yet'
  const time = clock(arrival.at)
  if (!arrival.isFresh) return `came ${time}`
  return arrival.page ? `${time}, ${arrival.page}` : time
}

/** What to do for an operation, and how to report it if nothing comes. */
function How({ step, place }: { readonly step: Step; readonly place: Found | undefined }) {
  const { act, attribute, call, note, operation } = step
  return (
    <div class="how">
      <p>
        {act}{' '}
        {place && (
          <>
            <Open
              address={place.url}
              test={`open-${operation}`}
              text={place.isFound ? 'Open the page' : 'Open the shop'}
            />{' '}
            or <Open address={withInspector(place.url)} text="with the inspector" />
          </>
        )}
      </p>
      <p class="hint below">
        {attribute ? 'If nothing comes, an attribute reports it:' : 'The call:'}
      </p>
      {attribute && <Paste text={attribute} test={`attribute-${operation}`} />}
      {attribute && <p class="hint below">Or a call:</p>}
      <Paste text={call} test={`call-${operation}`} />
      {note && <p class="hint below">{note}</p>}
    </div>
  )
}

const Open = ({
  address,
  text,
  test,
}: {
  readonly address: string
  readonly text: string
  readonly test?: string
}) => (
  <a href={address} target="_blank" rel="noopener noreferrer" data-test={test}>
    {text}
  </a>
)
