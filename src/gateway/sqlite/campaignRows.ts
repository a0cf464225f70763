import type { Database } from 'better-sqlite3'
import type { CampaignRecord, CampaignSummary } from '../../contract/index.ts'
import type { CampaignQuery } from '../campaigns/campaigns.ts'

/**
 * A campaign as its row. `content` may be megabytes, so it is stored apart from the rest, the summary. Both are JSON.
 */
export type CampaignRow = {
  readonly customer: string
  readonly id: string
  /** ms since 1970. */
  readonly createdAt: number
  readonly type: string
  readonly status: string
  readonly sendAt: string
  readonly name: string
  readonly subjectLine: string
  readonly summary: string
  /** UTF-8. It goes from the file to the socket as it is: decoding and encoding 2 MB would take 50 ms. */
  readonly content: Uint8Array
}

/** The row of a campaign. */
export function toCampaignRow(
  customer: string,
  { content, ...summary }: CampaignRecord,
): CampaignRow {
  return {
    ...summaryRow(customer, JSON.stringify(summary), summary),
    content: Buffer.from(JSON.stringify(content)),
  }
}

/** What the row of a campaign has besides its content. @param json The summary. */
export function summaryRow(
  customer: string,
  json: string,
  summary: CampaignSummary = JSON.parse(json),
): Omit<CampaignRow, 'content'> {
  const { id, type, status, subject, scheduling } = summary
  return {
    ...{ customer, id, type, status },
    createdAt: Date.parse(summary.created_at),
    sendAt: scheduling.send_at,
    name: subject.name,
    subjectLine: subject.subject_line,
    summary: json,
  }
}

/** A whole campaign as JSON, UTF-8. The summary is an object with fields, so the content goes before its brace. */
export const joinCampaign = (summary: string, content: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${summary.slice(0, -1)},"content":`), content, CLOSING_BRACE])

const CLOSING_BRACE = Buffer.from('}')

/** A campaign of a cluster, for the local copy of its partition. Its content stays in the cluster. */
export type CopiedCampaign = Omit<CampaignRow, 'content'> & {
  /** Its place in the order of all campaigns of the cluster. */
  readonly seq: number
  /** Size of the content, bytes of UTF-8. It counts for the customer's quota. */
  readonly contentBytes: number
}

/** The campaigns of a SQLite file. Synchronous, like the store. */
export type CampaignRows = {
  /**
   * A campaign whose id the customer already has is not changed.
   *
   * @returns Whether it is new.
   */
  insertCampaign(row: CampaignRow): boolean
  /**
   * The campaign with the highest `seq` is kept: two gateways that create one with the same id at the same moment may
   * both be acknowledged, and then the last one is the value of the key.
   *
   * @param seq Its place in the order.
   * @returns Whether its id is new.
   */
  copyCampaign(row: CampaignRow, seq: number): boolean
  /** A whole campaign as JSON, UTF-8. */
  findCampaign(customer: string, id: string): Uint8Array | undefined
  findCampaignSummary(customer: string, id: string): string | undefined
  /** Newest first. */
  listCampaigns(
    customer: string,
    query: CampaignQuery,
  ): { readonly summaries: readonly string[]; readonly total: number }
  hasEmail(): boolean
  /** The `seq` of the newest campaign. 0 if there is none. */
  lastCampaign(): number
}

/**
 * The first index has every column that a list filters by, in the order of the query: the rows are megabytes apart, and
 * events wait while a list is read. The content is the last column, because SQLite reads a row only up to the last
 * column it needs.
 */
export const CAMPAIGN_TABLES = `
  CREATE TABLE IF NOT EXISTS campaigns (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    customer TEXT NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    send_at TEXT NOT NULL,
    folded_name TEXT NOT NULL,
    folded_subject_line TEXT NOT NULL,
    head TEXT NOT NULL,
    content BLOB NOT NULL,
    UNIQUE (customer, id)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS campaigns_to_search
    ON campaigns (customer, seq, type, status, send_at, folded_name, folded_subject_line);
  CREATE INDEX IF NOT EXISTS email_campaigns ON campaigns (type) WHERE type = 'email';
`

const MATCHING = `
  FROM campaigns INDEXED BY campaigns_to_search
  WHERE customer = @customer
    AND (@type IS NULL OR type = @type)
    AND (@startDate IS NULL OR send_at >= @startDate)
    AND (@statuses IS NULL OR status IN (SELECT value FROM json_each(@statuses)))
    AND (@search IS NULL OR instr(folded_name, @search) OR instr(folded_subject_line, @search))
`

type Page = Filter & { readonly limit: number; readonly offset: number }
type Filter = Readonly<Record<'customer', string>> &
  Readonly<Record<'type' | 'startDate' | 'statuses' | 'search', string | null>>

export function createCampaignRows(database: Database): CampaignRows {
  const insert = database.prepare(
    `INSERT INTO campaigns
       (seq, customer, id, type, status, send_at, folded_name, folded_subject_line, head, content)
     VALUES (@seq, @customer, @id, @type, @status, @sendAt, @name, @subjectLine, @summary, @content)
     ON CONFLICT (customer, id) DO NOTHING`,
  )
  const copy = database.prepare(
    `INSERT INTO campaigns
       (seq, customer, id, type, status, send_at, folded_name, folded_subject_line, head, content)
     VALUES (@seq, @customer, @id, @type, @status, @sendAt, @name, @subjectLine, @summary, @content)
     ON CONFLICT (customer, id) DO UPDATE SET
       seq = excluded.seq, type = excluded.type, status = excluded.status, send_at = excluded.send_at,
       folded_name = excluded.folded_name, folded_subject_line = excluded.folded_subject_line,
       head = excluded.head, content = excluded.content
     WHERE excluded.seq > campaigns.seq`,
  )
  const select = database.prepare<[string, string], { head: string; content: Buffer }>(
    'SELECT head, content FROM campaigns WHERE customer = ? AND id = ?',
  )
  const selectSummary = database
    .prepare<[string, string], string>('SELECT head FROM campaigns WHERE customer = ? AND id = ?')
    .pluck()
  const count = database.prepare<[Filter], number>(`SELECT count(*) ${MATCHING}`).pluck()
  const selectPage = database
    .prepare<[Page], string>(
      `SELECT head FROM campaigns
       WHERE seq IN (SELECT seq ${MATCHING} ORDER BY seq DESC LIMIT @limit OFFSET @offset)
       ORDER BY seq DESC`,
    )
    .pluck()
  const anyEmail = database
    .prepare<[], number>(`SELECT EXISTS (SELECT 1 FROM campaigns WHERE type = 'email')`)
    .pluck()

  const last = database.prepare<[], number | null>('SELECT max(seq) FROM campaigns').pluck()

  // One transaction, so that the total and the page count the same campaigns.
  const list = database.transaction((filter: Filter, limit: number, offset: number) => {
    const total = count.get(filter) as number
    const summaries = offset < total ? selectPage.all({ ...filter, limit, offset }) : []
    return { summaries, total }
  })

  return {
    // SQLite chooses the next seq for null.
    insertCampaign: (row) => insert.run({ ...folded(row), seq: null }).changes > 0,
    copyCampaign(row, seq) {
      const isNew = selectSummary.get(row.customer, row.id) === undefined
      copy.run({ ...folded(row), seq })
      return isNew
    },
    findCampaign(customer, id) {
      const row = select.get(customer, id)
      return row && joinCampaign(row.head, row.content)
    },
    findCampaignSummary: (customer, id) => selectSummary.get(customer, id),
    listCampaigns(customer, { search, type = null, startDate = null, statuses, limit, page }) {
      const filter = {
        customer,
        type,
        startDate,
        statuses: statuses ? JSON.stringify(statuses) : null,
        search: search === undefined ? null : fold(search),
      }
      return list(filter, limit, (page - 1) * limit)
    },
    hasEmail: () => anyEmail.get() === 1,
    lastCampaign: () => last.get() ?? 0,
  }
}

/** The part of a text that is searched, characters. Events wait while the thread searches all campaigns. */
const MAX_SEARCHED = 1_000

/**
 * Makes texts equal that people read as equal: full-width and composed forms, upper and lower case of any script (LIKE
 * of SQLite knows only ASCII), the two small sigmas.
 */
const fold = (text: string): string =>
  text.normalize('NFKC').toLowerCase().normalize('NFKC').replaceAll('ς', 'σ')

/** The text in which a search looks. One character may fold to eighteen. */
const foldSearched = (text: string): string =>
  fold(text.slice(0, MAX_SEARCHED)).slice(0, MAX_SEARCHED)

/** The parameters of a row that is written. */
const folded = (row: CampaignRow) => ({
  ...row,
  name: foldSearched(row.name),
  subjectLine: foldSearched(row.subjectLine),
})
