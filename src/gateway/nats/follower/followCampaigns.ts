import { DeliverPolicy, type JsMsg } from '@nats-io/jetstream'
import { delay } from '@nats-io/transport-node'
import type { Usage } from '../../customers/usage.ts'
import { Unavailable } from '../../lib/unavailable.ts'
import { type CopiedCampaign, summaryRow } from '../../sqlite/campaignRows.ts'
import { inBatches } from '../batches.ts'
import type { Broker } from '../broker.ts'
import { decodeCampaign } from '../campaignEntry.ts'
import { type Following, followStream } from '../followStream.ts'
import { CAMPAIGNS_BUCKET, entrySubject, streamOfBucket } from '../names.ts'
import type { PartitionCopy } from './partitionCopy.ts'

/** The campaigns of a partition, on their way into its local copy. */
export type CopiedCampaigns = {
  /**
   * Resolves when the copy has every campaign that was durable at the time of the call. Rejects with Unavailable after
   * 5 seconds, or if the bucket can not be read.
   */
  catchUp(): Promise<void>
  /** Resolves when the copy has an e-mail campaign: only then there are reports. */
  readonly firstEmail: Promise<void>
  /** Nothing is written after it resolves. */
  stop(): Promise<void>
}

/** Campaigns that are written in one transaction, and that are in memory at once. Each has up to some 130 kB. */
const BATCH = 64
/** Time between two attempts, ms. */
const RETRY_MS = 1_000
export const CATCH_UP_MS = 5_000
const RETRY_SECONDS = 5
const NOT_COPIED = 'The campaigns are not copied yet'
const STREAM = streamOfBucket(CAMPAIGNS_BUCKET)

type Waiting = {
  readonly revision: number
  readonly resolve: () => void
  readonly refuse: () => void
}

/**
 * Copies the campaigns of a partition from their bucket into its local copy, for lists, reports and the quota of bytes.
 * The `seq` of a row is the revision of its key, so lists are in the order of creation, and a restart resumes after the
 * last row. The content stays in the cluster.
 *
 * Every follower calls it for every copy, whether it holds the partition or not. A holder awaits `catchUp` before it
 * starts the tasks: figures of reports are closed for the campaigns that the copy has. It gives the result to
 * `startCampaigns`.
 *
 * @param onUsage Called with how much customers have stored today, when that has changed.
 * @param onError Called with the first of a series of errors. It continues.
 */
export function followCampaigns(
  broker: Pick<Broker, 'nc' | 'jsm'>,
  copy: Pick<PartitionCopy, 'partition' | 'thread'>,
  onUsage: (usages: readonly Usage[]) => void,
  onError: (error: unknown, what: string) => void,
): CopiedCampaigns {
  const { nc, jsm } = broker
  const { partition, thread } = copy
  const subject = entrySubject(CAMPAIGNS_BUCKET, `${partition}.>`)
  const what = `the campaigns of partition ${partition}`
  /** Every campaign up to this revision is in the copy. */
  let copied = 0
  let isStopped = false
  let isFailing = false
  let following: Following | undefined
  let waiting: Waiting[] = []
  let foundEmail = () => {}
  const firstEmail = new Promise<void>((resolve) => {
    foundEmail = resolve
  })

  function advance(revision: number): void {
    copied = Math.max(copied, revision)
    for (const { revision, resolve } of waiting) if (revision <= copied) resolve()
    waiting = waiting.filter(({ revision }) => revision > copied)
  }

  async function follow(): Promise<void> {
    if (await thread.call('hasEmail')) foundEmail()
    const last = await thread.call('lastCampaign')
    advance(last)
    following = await followStream(nc, STREAM, {
      filter_subjects: subject,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: last + 1,
      prefetch: BATCH,
    })
    for (const { revision } of waiting) following.expect(revision)
    try {
      if (!isStopped) await copyAll(following)
    } finally {
      following.stop()
    }
  }

  async function copyAll({ messages }: Following): Promise<void> {
    for await (const batch of inBatches(messages, BATCH)) {
      await write(batch.flatMap(read))
      advance(batch.at(-1)?.seq ?? 0)
      isFailing = false
    }
  }

  /** None for what is no campaign: a key that an operator has deleted or written. */
  function read({ seq, data }: JsMsg): CopiedCampaign[] {
    if (data.length === 0) return []
    try {
      const { customer, summary, contentBytes } = decodeCampaign(data)
      const row = summaryRow(customer, summary)
      const { id, type, status, sendAt, name, subjectLine, createdAt } = row
      const texts = [id, type, status, sendAt, name, subjectLine]
      if (!texts.every((text) => typeof text === 'string') || Number.isNaN(createdAt))
        throw new SyntaxError('The summary is not that of a campaign')
      return [{ ...row, seq, contentBytes }]
    } catch (error) {
      onError(error, what)
      return []
    }
  }

  async function write(batch: readonly CopiedCampaign[]): Promise<void> {
    if (batch.length === 0 || isStopped) return
    onUsage(await thread.call('copyCampaigns', batch))
    if (batch.some(({ type }) => type === 'email')) foundEmail()
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      try {
        await follow()
      } catch (error) {
        if (!isFailing && !isStopped) onError(error, what)
        isFailing = true
      }
      if (!isStopped) await Promise.race([delay(RETRY_MS), stopping])
    }
  }

  let begin = () => {}
  const stopping = new Promise<void>((resolve) => {
    begin = resolve
  })
  const running = run()

  /** The revision of the newest campaign, from the leader. */
  async function findNewest(): Promise<number> {
    try {
      return (await jsm.streams.getMessage(STREAM, { last_by_subj: subject }))?.seq ?? 0
    } catch (error) {
      throw new Unavailable('The campaigns can not be read now', RETRY_SECONDS, error)
    }
  }

  return {
    firstEmail,
    async catchUp() {
      if (isStopped) throw new Unavailable(NOT_COPIED, RETRY_SECONDS)
      const revision = await findNewest()
      if (revision <= copied) return
      await new Promise<void>((resolve, reject) => {
        const refuse = () => reject(new Unavailable(NOT_COPIED, RETRY_SECONDS))
        const one = { revision, resolve, refuse }
        waiting.push(one)
        following?.expect(revision)
        setTimeout(() => {
          waiting = waiting.filter((other) => other !== one)
          refuse()
        }, CATCH_UP_MS).unref()
      })
    },
    async stop() {
      isStopped = true
      begin()
      for (const { refuse } of waiting) refuse()
      waiting = []
      following?.stop()
      await running
    },
  }
}
