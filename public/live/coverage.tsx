/** The coverage: how often each of the eleven operations comes, and which one has stopped. */
import { Component } from 'preact'
import type { Coverage } from '../../src/contract/problems.ts'
import { nameOperation } from '../operator/kinds.ts'
import { number } from '../operator/numbers.ts'
import { Sign } from '../operator/signs.tsx'
import { clock, exactTime } from '../operator/time.ts'
import { isWarning, mean, type Problems } from './problemList.ts'
import { Trouble } from './problems.tsx'

const STATES: Record<Coverage['state'], string> = {
  never: 'never',
  comes: 'comes',
  fewer: 'fewer than usual',
  stopped: 'stopped',
}

type Props = {
  readonly problems: Problems
  /** Why the list is not up to date, as a sentence; '' if it is. */
  readonly trouble: string
  /** Address of the set up page. */
  readonly setup: string
  /** Changes with each answer: the list is drawn again only then. */
  readonly version: number
}

export class CoverageList extends Component<Props> {
  override shouldComponentUpdate({ trouble, version }: Props): boolean {
    return trouble !== this.props.trouble || version !== this.props.version
  }

  render({ problems, trouble, setup }: Props) {
    const list = problems.list()
    return (
      <>
        <Trouble text={trouble} hasList={list !== undefined} />
        {list && (
          <table class="coverage" data-test="coverage">
            <thead>
              <tr>
                <th scope="col">Operation</th>
                <th scope="col">State</th>
                <th scope="col">Last 60 minutes</th>
                <th scope="col">7 days</th>
                <th scope="col">First</th>
                <th scope="col">Last</th>
              </tr>
            </thead>
            <tbody>
              {list.coverage.map((one) => (
                <Row key={one.operation} one={one} />
              ))}
            </tbody>
          </table>
        )}
        {list && (
          <p class="hint">
            Usual is the mean of the same 60 minutes of the last seven days. Counted since{' '}
            <Time at={list.since} />, without bots. An operation that never came may be one that the
            shop does not have. <a href={setup}>Set up</a> shows how to report each.
          </p>
        )}
      </>
    )
  }
}

function Row({ one }: { readonly one: Coverage }) {
  const { operation, state, message, hour, usual, week, first, last } = one
  return (
    <tr
      class={isWarning(one) ? 'warns' : ''}
      data-state={state}
      data-test={`coverage-${operation}`}
    >
      <th scope="row">
        <Sign name={operation} kind={operation} />
        {nameOperation(operation)}
      </th>
      <td class="is">
        <span class="state-of" data-state={state}>
          {STATES[state]}
        </span>
        {isWarning(one) && <small>{message}</small>}
      </td>
      <td class="hour">
        <Rate hour={hour} usual={usual} />
      </td>
      <td class="week">{number(week)}</td>
      <td data-name="first">
        <Time at={first} />
      </td>
      <td data-name="last">
        <Time at={last} />
      </td>
    </tr>
  )
}

/** This hour as a bar, with a mark where it usually is. Without the latter, a bar would say nothing. */
function Rate({ hour, usual }: Pick<Coverage, 'hour' | 'usual'>) {
  const count = <b>{number(hour)}</b>
  const unit = <small class="per">in 60 minutes</small>
  if (usual === null)
    return (
      <>
        {count} {unit}
      </>
    )
  const most = Math.max(hour, usual, 1)
  return (
    <>
      {count} {unit} <small>usual {mean(usual)}</small>
      <svg class="rate" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" />
        <rect class="now" width={(hour / most) * 100} height="6" />
        <rect class="usual" x={(usual / most) * 98} width="2" height="6" />
      </svg>
    </>
  )
}

const Time = ({ at }: { readonly at: string | null }) =>
  at === null ? (
    <>–</>
  ) : (
    <time dateTime={at} title={exactTime(Date.parse(at))}>
      {clock(Date.parse(at))}
    </time>
  )
