import type { CampaignRecord } from '../../contract/index.ts'
import type { CampaignHead, Campaigns } from '../campaigns/campaigns.ts'
import type { Usage } from '../customers/usage.ts'
import { createPlaces, type Wanted } from '../http/semaphore.ts'
import type { CampaignRows } from './campaignRows.ts'
import type { Asked, SqliteThread } from './thread.ts'

/** Questions about campaigns in the thread at a time, one a customer: events wait behind as many. */
const MAX_ASKED = 2
/** Questions in front of it, and how long one is worth waiting for, ms. */
const MAX_WAITING = 1_000
const WAIT_MS = 5_000

/** Campaigns in the SQLite file of the events, by the thread that writes it. */
export function createSqliteCampaigns(thread: SqliteThread): Campaigns {
  const turns = createPlaces({
    max: MAX_ASKED,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    message: 'Too many campaigns are being read and written',
  })

  async function ask(question: Asked & { readonly customer: string }, wanted?: Wanted) {
    const release = await turns.take(question.customer, wanted)
    try {
      return await thread.ask(question)
    } finally {
      release()
    }
  }

  const findJson = (customer: string, ids: readonly string[], wanted?: Wanted) =>
    ask({ kind: 'findCampaigns', customer, ids }, wanted) as Promise<Uint8Array>

  return {
    async create(customer, { content, ...head }) {
      const { id, type, status, subject, scheduling } = head
      const usage = await ask({
        kind: 'createCampaign',
        customer,
        row: {
          ...{ customer, id, type, status },
          createdAt: Date.parse(head.created_at),
          sendAt: scheduling.send_at,
          name: subject.name,
          subjectLine: subject.subject_line,
          head: JSON.stringify(head),
          content: new TextEncoder().encode(JSON.stringify(content)),
        },
      })
      return usage as readonly Usage[]
    },
    // The parts of an answer that has begun: a part that is refused would break it.
    findJson: (customer, ids) => findJson(customer, ids, { isPatient: true }),
    async find(customer, id) {
      const json = new TextDecoder().decode(await findJson(customer, [id]))
      return json ? (JSON.parse(json) as CampaignRecord) : undefined
    },
    async findHead(customer, id) {
      const head = (await ask({ kind: 'findHead', customer, id })) as string | undefined
      return head === undefined ? undefined : readHead(head)
    },
    async list(customer, query) {
      const { heads, total } = (await ask({
        kind: 'listCampaigns',
        customer,
        query,
      })) as ReturnType<CampaignRows['list']>
      return { heads: heads.map(readHead), total }
    },
    listSizes: (customer, query) =>
      ask({ kind: 'listSizes', customer, query }) as Promise<ReturnType<CampaignRows['listSizes']>>,
    hasEmail: () => thread.ask({ kind: 'hasEmail' }) as Promise<boolean>,
  }
}

const readHead = (head: string): CampaignHead => JSON.parse(head) as CampaignHead
