import type { Campaign, CampaignSummary } from '../../contract/index.ts'
import type { CampaignQuery } from '../campaigns/campaigns.ts'
import type { ReportFigures } from '../campaigns/report.ts'
import type { ReportView } from '../campaigns/reportView.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import type { ForwardFigures } from '../http/forwardMetrics.ts'
import type { Page, StoredOrder, StoredSubscriber, UnsubscribedRange } from '../orders/orders.ts'
import type { Kept, Proof } from '../people/people.ts'
import type { Person } from '../people/person.ts'
import type { CoverageHistory, ProblemCount } from '../problems/problems.ts'
import type { Difference } from './follower/comparison.ts'
import type { LongAnswer } from './follower/jobs.ts'
import type { UsageReport } from './usageMessage.ts'

/**
 * What the follower that holds a partition answers. A function gets only customers of its partition, except where it
 * names none. Arguments and results are copied as threads copy them (structured clone).
 */
export type Answers = {
  /** Whether the partition's copy has an event of the customer with each id, in order. */
  has(customer: string, ids: readonly string[]): Promise<readonly boolean[]>
  /** How much every customer of the partition has stored today and yesterday. */
  usage(): Promise<UsageReport>
  /** How the partition's copy differs from its stream. Undefined if no difference is known. */
  findDifference(): Promise<Difference | undefined>
  listCampaigns(
    customer: string,
    query: CampaignQuery,
  ): Promise<{ readonly summaries: readonly CampaignSummary[]; readonly total: number }>
  findOrder(customer: string, number: string): Promise<StoredOrder | undefined>
  findSubscriber(customer: string, email: string): Promise<StoredSubscriber | undefined>
  listUnsubscribed(customer: string, range: UnsubscribedRange): Promise<Page>
  readReport(
    customer: string,
    tracking: Campaign['tracking'],
    view?: ReportView,
  ): Promise<ReportFigures>
  /** Positions of the partition that are not counted yet. Undefined if nothing is counted. */
  reportsLag(): Promise<number | undefined>
  /** @param after Sequence of the stream. The answer has the counts up to it. */
  readProblems(customer: string, fromDay: number, after: number): Promise<readonly ProblemCount[]>
  /** The same. */
  readCoverage(customer: string, now: number, after: number): Promise<CoverageHistory>
  findPerson(customer: string, person: Person): Promise<LongAnswer<Kept | undefined>>
  /** @returns Number of the export, for `nextPiece`. Undefined if nothing is kept. */
  exportPerson(customer: string, person: Person): Promise<LongAnswer<number | undefined>>
  nextPiece(exported: number): Promise<Uint8Array | undefined>
  endExport(exported: number): Promise<void>
  erasePerson(customer: string, person: Person): Promise<LongAnswer<Proof | undefined>>
  proofs(customer: string): Promise<readonly Proof[]>
  forwardFigures(): Promise<readonly ForwardFigures[]>
  addDestination: Forwarding['add']
  listDestinations: Forwarding['list']
  changeDestination: Forwarding['change']
  removeDestination: Forwarding['remove']
  letters: Forwarding['letters']
  mendLetters: Forwarding['mend']
  replayLetters: Forwarding['replay']
  discardLetters: Forwarding['discard']
}
