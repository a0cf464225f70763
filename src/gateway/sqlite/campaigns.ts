import type { CampaignRecord } from '../../contract/index.ts'
import type { CampaignHead, Campaigns } from '../campaigns.ts'
import type { CampaignRows } from './campaignRows.ts'
import type { SqliteThread } from './thread.ts'

/** Campaigns in the SQLite file of the events, by the thread that writes it. */
export function createSqliteCampaigns({ ask }: SqliteThread): Campaigns {
  const findJson = (customer: string, id: string) =>
    ask({ kind: 'findCampaign', customer, id }) as Promise<ReturnType<CampaignRows['find']>>

  return {
    async create(customer, { content, ...head }) {
      const { id, type, status, subject, scheduling } = head
      await ask({
        kind: 'createCampaign',
        row: {
          ...{ customer, id, type, status },
          sendAt: scheduling.send_at,
          name: subject.name,
          subjectLine: subject.subject_line,
          head: JSON.stringify(head),
          content: new TextEncoder().encode(JSON.stringify(content)),
        },
      })
    },
    findJson,
    async find(customer, id) {
      const json = await findJson(customer, id)
      return json && (JSON.parse(new TextDecoder().decode(json)) as CampaignRecord)
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
    hasEmail: () => ask({ kind: 'hasEmail' }) as Promise<boolean>,
  }
}

const readHead = (head: string): CampaignHead => JSON.parse(head) as CampaignHead
