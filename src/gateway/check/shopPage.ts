import type { CheckedPage, Finding } from '../../contract/setup.ts'
import type { Policy } from './csp.ts'
import type { Tag } from './findTags.ts'
import type { Page } from './readPage.ts'

/** A page of a shop that was read. */
export type ShopPage = {
  readonly kind: CheckedPage['kind']
  readonly url: string
  readonly page: Page
  readonly tags: readonly Tag[]
  /** Its policies, and where each is from. */
  readonly policies: readonly PagePolicy[]
}

export type PagePolicy = {
  readonly policy: Policy
  readonly from: 'header' | 'meta element'
  /** Whether browsers only report what it forbids. */
  readonly isReportOnly: boolean
  /** How many scripts of the page it does not bind, since they stand before it. */
  readonly scriptsBefore: number
}

/** What a check looks for. */
export type Wanted = {
  readonly key: string
  /** The gateway's address, without a slash at its end. */
  readonly gateway: string
  /** Id of the customer, for commands. */
  readonly customerId: string
}

/** The settings of a key that a check compares with the pages. */
export type KnownSettings = {
  readonly consent: 'granted' | 'required' | 'cookieless'
  readonly sources: readonly string[]
  readonly ga4: boolean
  readonly dataLayer: boolean
  readonly dataLayerName: string
  readonly schemaOrg: boolean
  /** The global name of the helpers. */
  readonly global: string
}

/** A finding on one page, before those of all pages are put together. */
export type PageFinding = Omit<Finding, 'pages'> & { readonly page?: string }

/** Longest message and longest line of a fix, characters. They quote what a page says. */
const MAX_MESSAGE = 1_000
const MAX_LINE = 4_000

export const found = (
  level: Finding['level'],
  code: string,
  message: string,
  fix: readonly string[] = [],
  page?: string,
): PageFinding => ({
  level,
  code,
  message: cut(message, MAX_MESSAGE),
  fix: fix.map((line) => cut(line, MAX_LINE)),
  ...(page !== undefined && { page }),
})

const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max)} …` : text
