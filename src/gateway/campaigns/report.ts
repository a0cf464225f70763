import type { Campaign, EmailReport } from '../../contract/index.ts'
import type { ReportView } from './reportView.ts'

/** The figures of a campaign. */
export type ReportFigures = Omit<EmailReport, 'campaign_id'>

/** Reports over the event log. */
export type Reports = {
  /** Starts to read the log in the background, so that the first report does not have to wait for it. */
  follow(): void
  /**
   * The figures of these utm values, over every event of the customer that was stored before the call. Events of other
   * customers do not delay it. Rejects with Unavailable if they can not be read.
   *
   * @param view Default: DEFAULT_VIEW.
   */
  read(customer: string, tracking: Campaign['tracking'], view?: ReportView): Promise<ReportFigures>
  /**
   * How many positions of the log are not counted yet. Undefined if nothing is counted, since no customer has an e-mail
   * campaign. Rejects with Unavailable.
   */
  lag(): Promise<number | undefined>
  /**
   * Closes the figures of a customer's campaigns before a time, so that its events before it can be removed: reports
   * keep counting them, and forget their devices. Rejects if the figures can not be closed now.
   *
   * @param before The start of a day (UTC), ms since 1970.
   * @param timeZone That of the customer's reports: the days of what is closed stay in this zone.
   */
  closeFigures(customer: string, before: number, timeZone: string): Promise<void>
  close(): Promise<void>
}
