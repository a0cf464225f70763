import { randomUUID } from 'node:crypto'
import type { CampaignSummary } from '../../contract/index.ts'
import type { Campaigns } from '../campaigns/campaigns.ts'
import { createSemaphore, type Semaphore, TooMany } from '../http/semaphore.ts'
import { Unavailable } from '../lib/unavailable.ts'
import { joinCampaign, toCampaignRow } from '../sqlite/campaignRows.ts'
import type { Ask } from './ask.ts'
import type { Broker } from './broker.ts'
import { type CampaignEntry, campaignKey, decodeCampaign, encodeCampaign } from './campaignEntry.ts'
import { createContentStore } from './contentStore.ts'
import { CAMPAIGNS_BUCKET, entrySubject, streamOfBucket } from './names.ts'

/** Content up to this size is in the value of the key, bytes. Larger content is in the object store. */
export const MAX_INLINE_BYTES = 2 ** 14
/** How long a call may take after it has got its permit, ms. */
const DEADLINE_MS = 10_000
/** Retry-After, seconds. */
const RETRY_SECONDS = 5
/** Calls that write or read content: each has up to some 3 MB of it in memory twice. One customer gets one permit. */
export const CONTENTS = {
  permits: 6,
  permitsOfOne: 1,
  maxWaiting: 200,
  waitMs: 5_000,
  message: 'Too many campaigns are being read and written',
}
/** The other calls. They wait for a follower, and one that is being replaced must not hold up those of all customers. */
export const SUMMARIES = { ...CONTENTS, permits: 32, permitsOfOne: 4, maxWaiting: 1_000 }

/** The key that exists if there is an e-mail campaign. It is not in a partition. */
const EMAIL_KEY = 'email'
const STREAM = streamOfBucket(CAMPAIGNS_BUCKET)

/**
 * Campaigns in the cluster: a key for each, with the content in the object store if it is large. Lists are answered by
 * the follower that holds the customer's partition, everything else needs none.
 *
 * `create` returns no usage: the follower counts the bytes, and reports them with those of the events.
 */
export function createNatsCampaigns(broker: Broker, ask: Ask): Campaigns {
  const { campaigns, jsm, partitionOf } = broker
  const contents = createContentStore(broker.content, DEADLINE_MS)
  const contentCalls = createSemaphore(CONTENTS)
  const summaryCalls = createSemaphore(SUMMARIES)
  /** Whether EMAIL_KEY is known to exist. It is never removed. */
  let hasEmail = false

  const keyOf = (customer: string, id: string) => campaignKey(partitionOf(customer), customer, id)

  /** From the leader: another node may not have yet what it has acknowledged. */
  async function readEntry(key: string): Promise<CampaignEntry | undefined> {
    const message = await jsm.streams.getMessage(STREAM, {
      last_by_subj: entrySubject(CAMPAIGNS_BUCKET, key),
    })
    // Only an operator deletes a key. The message that is left has no data then.
    return message && message.data.length > 0 ? decodeCampaign(message.data) : undefined
  }

  async function readContent({ object, contentBytes, content }: CampaignEntry) {
    if (object === undefined) return content
    const found = await contents.read(object, contentBytes)
    if (!found) throw new Error(`The object ${object} does not exist`)
    return found
  }

  async function markEmail(): Promise<void> {
    if (!hasEmail) await campaigns.put(EMAIL_KEY, '')
    hasEmail = true
  }

  /** Resolves when the key exists. */
  async function createKey(key: string, value: Uint8Array, object?: string): Promise<void> {
    try {
      await campaigns.create(key, value)
    } catch (error) {
      // It exists, or the answer was lost.
      const existing = await readEntry(key)
      if (!existing) throw error
      // The campaign of another call. Content of one that failed stays: its key may still be stored.
      if (object !== undefined && existing.object !== object) await contents.remove(object)
    }
  }

  /** @param what For the message of a failure: `The campaign can not be … now`. */
  async function inTurn<Result>(
    semaphore: Semaphore,
    customer: string,
    what: string,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const release = await semaphore.acquire(customer)
    // A call that goes on after the deadline keeps its permit, since it still uses memory.
    const running = run().finally(release)
    try {
      return await withDeadline(running)
    } catch (error) {
      if (error instanceof Unavailable || error instanceof TooMany) throw error
      throw new Unavailable(`The campaign can not be ${what} now`, RETRY_SECONDS, error)
    }
  }

  return {
    async create(customer, campaign) {
      const row = toCampaignRow(customer, campaign)
      const key = keyOf(customer, row.id)
      await inTurn(contentCalls, customer, 'stored', async () => {
        if (row.type === 'email') await markEmail()
        // Unique, so that two calls with one id never write the same object.
        const object = row.content.length > MAX_INLINE_BYTES ? `${key}.${randomUUID()}` : undefined
        if (object !== undefined) await contents.write(object, row.content)
        await createKey(key, encodeCampaign(row, object), object)
      })
      return []
    },
    find: (customer, id) =>
      inTurn(contentCalls, customer, 'read', async () => {
        const entry = await readEntry(keyOf(customer, id))
        return entry && joinCampaign(entry.summary, await readContent(entry))
      }),
    findSummary: (customer, id) =>
      inTurn(summaryCalls, customer, 'read', async () => {
        const entry = await readEntry(keyOf(customer, id))
        return entry && (JSON.parse(entry.summary) as CampaignSummary)
      }),
    list: (customer, query) =>
      inTurn(summaryCalls, customer, 'listed', () =>
        ask(partitionOf(customer), 'listCampaigns', [customer, query], DEADLINE_MS),
      ),
    async hasEmail() {
      if (hasEmail) return true
      try {
        hasEmail = (await campaigns.get(EMAIL_KEY)) !== null
      } catch (error) {
        throw new Unavailable('The campaigns can not be read now', RETRY_SECONDS, error)
      }
      return hasEmail
    },
  }
}

async function withDeadline<Result>(running: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The cluster answers too slowly')), DEADLINE_MS)
  })
  try {
    return await Promise.race([running, late])
  } finally {
    clearTimeout(timer)
  }
}
