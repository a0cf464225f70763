/** The list of problems: what goes wrong with a customer's events, where, how often, and what to do. */
import { Component } from 'preact'
import type { Problem } from '../../src/contract/problems.ts'
import { CopyButton } from '../operator/copyButton.tsx'
import { paint } from '../operator/json.tsx'
import { counted, nameOf, number } from '../operator/numbers.ts'
import { Sign } from '../operator/signs.tsx'
import { clock, exactTime } from '../operator/time.ts'
import { daysOf, type Problems, piecesOf, titleOf } from './problemList.ts'

type Props = {
  readonly problems: Problems
  /** Why the list is not up to date, as a sentence; '' if it is. */
  readonly trouble: string
  /** Changes with each answer: the list is drawn again only then. */
  readonly version: number
}

export class ProblemsList extends Component<Props> {
  override shouldComponentUpdate({ trouble, version }: Props): boolean {
    return trouble !== this.props.trouble || version !== this.props.version
  }

  render({ problems, trouble }: Props) {
    const list = problems.list()
    const [current, earlier] = [problems.current(), problems.earlier()]
    const days = list ? daysOf(list) : 0
    return (
      <>
        <Trouble text={trouble} hasList={list !== undefined} />
        {list && current.length === 0 && <NoProblems days={days} hasEarlier={earlier.length > 0} />}
        <ul class="problems" data-test="problems">
          {current.map((problem) => (
            <Row key={problem.id} problem={problem} isNew={problems.isNew(problem)} />
          ))}
        </ul>
        {earlier.length > 0 && (
          <details class="earlier" data-test="earlier">
            <summary>
              {counted(earlier.length, 'problem')} of the last {days} days that{' '}
              {earlier.length === 1 ? 'was' : 'were'} not seen today
            </summary>
            <ul class="problems">
              {earlier.map((problem) => (
                <Row key={problem.id} problem={problem} isNew={false} />
              ))}
            </ul>
          </details>
        )}
      </>
    )
  }
}

/** Tells that a list could not be loaded. `hasList`: an older one is shown. */
export function Trouble({ text, hasList }: { readonly text: string; readonly hasList: boolean }) {
  return (
    <p class="notice" role="status" hidden={!text} data-test="problems-trouble">
      {text}{' '}
      {hasList
        ? 'This is what it said before. The page tries again by itself.'
        : 'The page tries again by itself.'}
    </p>
  )
}

function NoProblems({ days, hasEarlier }: { readonly days: number; readonly hasEarlier: boolean }) {
  return (
    <div class="fine" data-test="no-problems">
      <h2>
        <Sign name="check" />
        {hasEarlier ? 'No problem in the last 24 hours' : `No problem in the last ${days} days`}
      </h2>
      <p>Watched are:</p>
      <ul>
        <li>
          events that the script drops: invalid, refused, too old, or without room to keep them
        </li>
        <li>events that the gateway refuses: invalid or too large</li>
        <li>pages whose Origin is not in the customer’s list, or that use an old tracking key</li>
        <li>servers with a wrong REST key</li>
      </ul>
    </div>
  )
}

function Row({ problem, isNew }: { readonly problem: Problem; readonly isNew: boolean }) {
  const { operation, path, page, source, count, first, last, days, message, fix } = problem
  const { example } = problem
  return (
    <li class="problem" data-test="problem" data-reason={problem.reason}>
      <div class="body">
        <h3>
          {operation ? <Sign name={operation} kind={operation} /> : <Sign name="problem" />}
          <span>{titleOf(problem)}</span>
          {path && <code class="fault">{path}</code>}
          {isNew && <em>new</em>}
        </h3>
        <p class="where">
          <code>{page}</code> <span>{source === 'page' ? 'in the page' : 'at the gateway'}</span>
        </p>
        <p>{message}</p>
        <Fix text={fix} />
        {example !== undefined && (
          <details>
            <summary>Last example</summary>
            <pre>{paint(JSON.stringify(example, null, 2))}</pre>
          </details>
        )}
      </div>
      <div class="often">
        <p>
          <b data-test="problem-count">{number(count)}</b> {nameOf(count, 'time')}
        </p>
        <Days days={days} />
        <p class="when">
          since <Time at={first} />
          <br />
          last <Time at={last} />
        </p>
      </div>
    </li>
  )
}

/** What to do, with its code. Commands have a button that copies them. */
function Fix({ text }: { readonly text: string }) {
  const pieces = piecesOf(text)
  return (
    <div class="fix" data-test="fix">
      <p>{pieces.map(({ kind, text }) => (kind === 'text' ? text : <code>{text}</code>))}</p>
      {pieces
        .filter(({ kind }) => kind === 'command')
        .map(({ text }) => (
          <CopyButton key={text} text={text} label="Copy the command" test="copy-fix" />
        ))}
    </div>
  )
}

const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={exactTime(Date.parse(at))}>
    {clock(Date.parse(at))}
  </time>
)

/** The counts by day as bars. The text beside it says the same. */
function Days({ days }: { readonly days: readonly number[] }) {
  const most = Math.max(1, ...days)
  return (
    <svg
      class="days"
      viewBox={`0 0 ${days.length * 4} 20`}
      preserveAspectRatio="xMinYMax"
      aria-hidden="true"
    >
      {days.map((value, index) => {
        const height = value ? Math.max(3, (value / most) * 20) : 1
        return (
          <rect
            class={value ? '' : 'none'}
            x={index * 4 + 0.5}
            width={3}
            y={20 - height}
            height={height}
          />
        )
      })}
    </svg>
  )
}
