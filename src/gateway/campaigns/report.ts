import type { Campaign, EmailReport } from '../../contract/index.ts'

/** What a campaign's visits did, of whichever campaign. */
export type ReportFigures = Omit<EmailReport, 'campaign_id'>

/** Reports, read from the event log at their own pace. */
export type Reports = {
  /** Begins to read the log in the background, so that the first report need not. */
  follow(): void
  /**
   * The figures of these utm values, of every event of the customer that was stored before the call; those
   * of others do not hold it up. Rejects with Unavailable where they can not be read.
   */
  read(customer: string, tracking: Campaign['tracking']): Promise<ReportFigures>
  close(): Promise<void>
}
