import type { CampaignRecord } from '../../contract/index.ts'
import type { CampaignHead, Campaigns } from '../campaigns/campaigns.ts'
import { createPlaces, type Wanted } from '../http/semaphore.ts'
import type { Call } from './remote.ts'
import type { Store } from './store.ts'

/** Questions about campaigns in the thread at a time, one a customer: events wait behind as many. */
const MAX_ASKED = 2
/** Questions in front of it, and how long one is worth waiting for, ms. */
const MAX_WAITING = 1_000
const WAIT_MS = 5_000

/** Campaigns in the SQLite file of the events, by the thread that writes it. */
export function createSqliteCampaigns(call: Call<Store>): Campaigns {
  const turns = createPlaces({
    max: MAX_ASKED,
    maxWaiting: MAX_WAITING,
    waitMs: WAIT_MS,
    message: 'Too many campaigns are being read and written',
  })

  async function inTurn<Result>(
    customer: string,
    run: () => Promise<Result>,
    wanted?: Wanted,
  ): Promise<Result> {
    const release = await turns.take(customer, wanted)
    try {
      return await run()
    } finally {
      release()
    }
  }

  const findJson = (customer: string, ids: readonly string[], wanted?: Wanted) =>
    inTurn(customer, () => call('findCampaigns', customer, ids), wanted)

  return {
    create(customer, { content, ...head }) {
      const { id, type, status, subject, scheduling } = head
      const row = {
        ...{ customer, id, type, status },
        createdAt: Date.parse(head.created_at),
        sendAt: scheduling.send_at,
        name: subject.name,
        subjectLine: subject.subject_line,
        head: JSON.stringify(head),
        content: new TextEncoder().encode(JSON.stringify(content)),
      }
      return inTurn(customer, () => call('createCampaign', row))
    },
    // The parts of an answer that has begun: a part that is refused would break it.
    findJson: (customer, ids) => findJson(customer, ids, { isPatient: true }),
    async find(customer, id) {
      const json = new TextDecoder().decode(await findJson(customer, [id]))
      return json ? (JSON.parse(json) as CampaignRecord) : undefined
    },
    async findHead(customer, id) {
      const head = await inTurn(customer, () => call('findCampaignHead', customer, id))
      return head === undefined ? undefined : readHead(head)
    },
    async list(customer, query) {
      const { heads, total } = await inTurn(customer, () => call('listCampaigns', customer, query))
      return { heads: heads.map(readHead), total }
    },
    listSizes: (customer, query) =>
      inTurn(customer, () => call('listCampaignSizes', customer, query)),
    hasEmail: () => call('hasEmail'),
  }
}

const readHead = (head: string): CampaignHead => JSON.parse(head) as CampaignHead
