/** What a report counts: its time zone, and whether bots are in its figures. */
import type { EmailReport } from '../../src/contract/answers.ts'
import { counted } from '../operator/numbers.ts'

export function Scope({
  report,
  bots,
  onBots,
}: {
  readonly report: Pick<EmailReport, 'bots' | 'time_zone'>
  /** Whether the operator wants bots to be counted. The report that is shown may still be the one before. */
  readonly bots: boolean
  readonly onBots: (bots: boolean) => void
}) {
  const { visitors, events, included } = report.bots
  const came = `${counted(visitors, 'bot')} with ${counted(events, 'event')}`
  return (
    <div class="scope">
      <p class="hint" data-test="time-zone">
        Days are counted in <b>{report.time_zone}</b>
      </p>
      <label>
        <input
          type="checkbox"
          role="switch"
          aria-checked={bots}
          checked={bots}
          onChange={({ currentTarget }) => onBots(currentTarget.checked)}
          data-test="bots"
        />
        <span>Count bots too</span>
      </label>
      <p class="hint" role="status" data-test="bots-state">
        {visitors === 0 &&
          'No bots came: crawlers, monitors, scanners of mail that open every link.'}
        {visitors > 0 && (included ? `Included: ${came}` : `Left out: ${came}`)}
      </p>
    </div>
  )
}
