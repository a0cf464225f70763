import type { CheckedPage, CheckReport, Finding, Level } from '../../contract/setup.ts'
import { LEVELS, schemeOf } from '../../contract/setup.ts'
import { consentFindings, findConsent } from './consentFindings.ts'
import { readPolicies } from './csp.ts'
import type { Fetched, FetchPage } from './fetchPage.ts'
import { findLinks, type Target } from './findLinks.ts'
import { findInlined, findTags } from './findTags.ts'
import { mixedFindings, policyFindings } from './policyFindings.ts'
import { decodePage, readPage } from './readPage.ts'
import {
  found,
  type KnownSettings,
  type PageFinding,
  type PagePolicy,
  type ShopPage,
  type Wanted,
} from './shopPage.ts'
import { sourceFindings } from './sourceFindings.ts'
import { tagFindings } from './tagFindings.ts'

/** What a gateway says about a key. */
export type GatewayAnswer = {
  /** Undefined if it does not say. */
  readonly settings: KnownSettings | undefined
  readonly findings: readonly PageFinding[]
}

/**
 * Asks a gateway about a key, as a page would, without storing anything: whether its script answers, and whether pages
 * of these origins may send events. Never rejects.
 */
export type AskGateway = (wanted: Wanted, origins: readonly string[]) => Promise<GatewayAnswer>

export type CheckOptions = {
  /** Address of the shop's home page, or of another of its pages. Without a scheme it is https, or http on this machine. */
  readonly shop: string
  /** The tracking key that should be there. Default: that of the first tag. */
  readonly key?: string | undefined
  /** The gateway's address, without a slash at its end. Default: that of the first tag. */
  readonly gateway?: string | undefined
  /** Id of the customer, for the commands of the fixes. Default `ID`. */
  readonly customerId?: string | undefined
  readonly fetchPage: FetchPage
  readonly askGateway: AskGateway
  /** What to do about a page whose address `fetchPage` refuses. Default: nothing. */
  readonly fixRefused?: ((url: string) => readonly string[]) | undefined
}

/**
 * Reads a few pages of a shop and says what keeps events from arriving, or may. Pages are asked for once, without
 * cookies; addresses that may put something into a cart are not asked for. Never rejects.
 *
 * @returns `isReached` is false if no page could be read.
 */
export async function checkShop(
  options: CheckOptions,
): Promise<{ readonly report: CheckReport; readonly isReached: boolean }> {
  const { askGateway, customerId = 'ID' } = options
  const address = withScheme(options.shop)
  const home = await readOne({ kind: 'home', url: address }, options)
  const further = home.page ? findLinks(home.page.page) : []
  const others = await Promise.all(further.map((target) => readOne(target, options)))
  const read = unique([home, ...others])
  const pages = read.flatMap(({ page }) => (page ? [page] : []))
  const first = pages.flatMap(({ tags }) => tags.filter(({ dead }) => !dead))[0]
  const any = first ?? pages.flatMap(({ tags }) => tags)[0]
  const inlined = pages.flatMap(({ page }) => findInlined(page))[0]
  const key = options.key ?? any?.key ?? inlined?.key ?? null
  const gateway = options.gateway ?? any?.gateway ?? null
  const findings: PageFinding[] = read.flatMap(({ findings }) => findings)
  const consent = findConsent(pages)
  const wanted: Wanted = {
    key: key ?? 'YOURKEY',
    gateway: gateway ?? 'https://gateway.example',
    customerId,
  }
  let settings: KnownSettings | undefined
  if (key !== null && gateway !== null && pages.length > 0) {
    const origins = [...new Set(pages.map(({ url }) => new URL(url).origin))]
    const answer = await askGateway(wanted, origins)
    settings = answer.settings
    findings.push(...answer.findings)
  }
  for (const page of pages) {
    findings.push(...tagFindings(page, wanted, settings))
    if (gateway !== null)
      findings.push(...policyFindings(page, wanted), ...mixedFindings(page, wanted))
  }
  if (pages.length > 0)
    findings.push(
      ...consentFindings(consent, settings, wanted),
      ...sourceFindings(pages, settings, wanted),
    )
  const report: CheckReport = {
    shop: address,
    key,
    gateway,
    pages: read.map(({ checked }) => checked),
    findings: merge(findings),
    consent,
  }
  return { report, isReached: pages.length > 0 }
}

/** What became of one page. */
type Read = {
  readonly checked: CheckedPage
  readonly page?: ShopPage
  readonly findings: readonly PageFinding[]
}

async function readOne(
  { kind, url }: Target,
  { fetchPage, fixRefused = () => [] }: CheckOptions,
): Promise<Read> {
  const fetched = await fetchPage(url)
  if (!fetched.ok) {
    const { message, reason } = fetched
    return {
      checked: { kind, url: fetched.url, status: 0 },
      findings: [
        found(
          kind === 'home' ? 'error' : 'note',
          'page-unreachable',
          `The page can not be read: ${message}.`,
          reason === 'refused' ? fixRefused(fetched.url) : [],
          fetched.url,
        ),
      ],
    }
  }
  const checked = { kind, url: fetched.url, status: fetched.status }
  const fault = faultOf(fetched)
  if (fault)
    return {
      checked,
      findings: [{ ...fault, level: kind === 'home' ? 'error' : 'note', page: fetched.url }],
    }
  const page = readPage(decodePage(fetched.body, fetched.headers['content-type']), fetched.url)
  return {
    checked,
    page: {
      kind,
      url: fetched.url,
      page,
      tags: findTags(page),
      policies: policiesOf(fetched, page.metaPolicies),
    },
    findings: fetched.isCut
      ? [
          found(
            'note',
            'page-cut',
            'The page is larger than this check reads. Only its beginning was checked.',
            [],
            fetched.url,
          ),
        ]
      : [],
  }
}

function faultOf({ status, headers }: Fetched): PageFinding | undefined {
  const type = headers['content-type'] ?? ''
  if ([401, 403, 429, 503].includes(status))
    return found(
      'error',
      'page-refused',
      `The page is answered ${status}. The shop probably protects itself against programs: its firewall has to let this check through, or the page asks for a password.`,
    )
  if (status >= 400) return found('error', 'page-status', `The page is answered ${status}.`)
  if (status !== 200)
    return found('error', 'page-status', `The page is answered ${status}, without a page.`)
  if (type && !/html/i.test(type))
    return found(
      'error',
      'page-type',
      `The address is not a page of HTML but ${type.slice(0, 60)}.`,
    )
  return undefined
}

function policiesOf(
  { headers }: Fetched,
  meta: ShopPage['page']['metaPolicies'],
): readonly PagePolicy[] {
  const ofHeader = (name: string, isReportOnly: boolean) =>
    readPolicies(headers[name] ?? '').map(
      (policy): PagePolicy => ({
        policy,
        from: 'header',
        isReportOnly,
        scriptsBefore: 0,
      }),
    )
  return [
    ...ofHeader('content-security-policy', false),
    ...ofHeader('content-security-policy-report-only', true),
    ...meta.flatMap(({ text, scriptsBefore }) =>
      readPolicies(text).map(
        (policy): PagePolicy => ({
          // Browsers ignore it there.
          policy: new Map([...policy].filter(([name]) => name !== 'sandbox')),
          from: 'meta element',
          isReportOnly: false,
          scriptsBefore,
        }),
      ),
    ),
  ]
}

/** Pages, each address once: a cart that is empty often redirects to the home page. */
function unique(read: readonly Read[]): readonly Read[] {
  const seen = new Set<string>()
  return read.filter(({ checked: { url } }) => !seen.has(url) && seen.add(url))
}

/** The same finding on several pages is one, and the most serious come first. */
function merge(findings: readonly PageFinding[]): readonly Finding[] {
  const merged = new Map<string, Finding & { pages: string[] }>()
  for (const { page, ...finding } of findings) {
    const id = JSON.stringify([finding.level, finding.code, finding.message])
    const one = merged.get(id) ?? { ...finding, pages: [] }
    if (page !== undefined && !one.pages.includes(page)) one.pages.push(page)
    merged.set(id, one)
  }
  const rank = (level: Level) => -LEVELS.indexOf(level)
  return [...merged.values()].sort((a, b) => rank(a.level) - rank(b.level))
}

/** The address as people write it. */
function withScheme(shop: string): string {
  // `https:/shop.example` is one too: browsers take it.
  const text = /^(https?:|[a-z][a-z\d+.-]*:\/\/)/i.test(shop) ? shop : `${schemeOf(shop)}://${shop}`
  try {
    return new URL(text).href
  } catch {
    return text
  }
}
