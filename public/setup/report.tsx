/** The check of the shop: its button, and what it has found, with the fix for each. */
import type { CheckReport, Finding, Level } from '../../src/contract/setup.ts'
import { counted } from '../operator/numbers.ts'
import { Sign } from '../operator/signs.tsx'
import { Line } from './paste.tsx'

const LEVELS: Record<Level, string> = {
  error: 'wrong',
  warning: 'warning',
  note: 'note',
  ok: 'fine',
}

export function Check({
  report,
  isBusy,
  trouble,
  onCheck,
}: {
  readonly report: CheckReport | undefined
  readonly isBusy: boolean
  /** Why there is no report, as a sentence; '' for no reason. */
  readonly trouble: string
  readonly onCheck: () => void
}) {
  return (
    <section class="card" aria-busy={isBusy}>
      <div class="title">
        <h3>Check the shop</h3>
        <button type="button" class="primary" disabled={isBusy} onClick={onCheck} data-test="check">
          {isBusy ? 'Checking…' : report ? 'Check again' : 'Check the shop'}
        </button>
      </div>
      <p class="hint">
        The gateway reads some pages of the shop, and looks whether the tag is there and may run.
      </p>
      <p class="trouble" role="alert" hidden={!trouble} data-test="check-trouble">
        {trouble}
      </p>
      <div role="status">{report && <Summary report={report} />}</div>
      {report && (
        <>
          <ul class="findings" data-test="findings">
            {report.findings.map((finding, index) => (
              <Found key={`${finding.code}${index}`} finding={finding} />
            ))}
          </ul>
          <details>
            <summary>{counted(report.pages.length, 'page')} read</summary>
            <ul class="read">
              {report.pages.map(({ kind, url, status }) => (
                <li key={url}>
                  {kind}: <code>{url}</code> {status === 0 ? 'no answer' : status}
                </li>
              ))}
            </ul>
          </details>
        </>
      )}
    </section>
  )
}

function Summary({ report: { findings } }: { readonly report: CheckReport }) {
  const count = (level: Level) => findings.filter((one) => one.level === level).length
  const [errors, warnings] = [count('error'), count('warning')]
  const isFine = errors === 0
  return (
    <p class={isFine ? 'verdict fine' : 'verdict'} data-test="verdict">
      <Sign name={isFine ? 'check' : 'problem'} />
      {isFine
        ? 'Nothing keeps events from arriving.'
        : `${counted(errors, 'thing')} ${errors === 1 ? 'keeps' : 'keep'} events from arriving.`}
      {warnings > 0 && ` ${counted(warnings, 'warning')}.`}
    </p>
  )
}

function Found({ finding }: { readonly finding: Finding }) {
  const { level, code, message, fix, pages } = finding
  return (
    <li data-level={level} data-code={code} data-test="finding">
      <p>
        <em>{LEVELS[level]}</em> {message}
      </p>
      {pages.length > 0 && level !== 'ok' && <Pages pages={pages} />}
      {fix.map((line) => (
        <Line key={line} text={line} />
      ))}
    </li>
  )
}

const Pages = ({ pages }: { readonly pages: readonly string[] }) => (
  <p class="hint">
    {pages.map((page) => (
      <code key={page}>{page} </code>
    ))}
  </p>
)
