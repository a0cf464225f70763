import { validate } from '../contract/index.ts'
import type { CheckReport, Finding, Level } from '../contract/setup.ts'
import { createAskByHttp } from './check/askGateway.ts'
import { checkShop } from './check/checkShop.ts'
import { createFetchPage } from './check/fetchPage.ts'
import { type Fault, misused } from './lib/command.ts'
import { printableJson } from './lib/printable.ts'
import type { Settings } from './settings.ts'
import { readGateway } from './snippetCommand.ts'

/** Options of `shoptrail check`, as they were typed. */
export type CheckCommandOptions = {
  readonly key?: string | undefined
  readonly gateway?: string | undefined
  readonly json?: boolean | undefined
}

export const CHECK_OPTIONS = ['key', 'gateway', 'json']

/** Exit code if no page of the shop can be read, as sysexits.h has it. */
const EX_UNAVAILABLE = 69

/**
 * `check URL`: reads a few pages of a shop and prints what keeps events from arriving, with the fix. Asks any address,
 * since the person at the command line could do that too.
 *
 * @returns What runs it. Its code is 0 without errors, 1 with errors, 69 if no page of the shop can be read.
 */
export function prepareCheck(
  shop: string | undefined,
  options: CheckCommandOptions,
  { publicUrl }: Settings,
): Fault | (() => Promise<{ readonly code: number; readonly lines: readonly string[] }>) {
  const { key, json } = options
  if (!shop) return misused('Expected the address of the shop: check https://shop.example')
  if (key !== undefined && !validate('serveJavascript', { trackingKey: key }).ok)
    return misused('Expected --key with a tracking key of 6 to 20 characters')
  const text = options.gateway ?? publicUrl
  const gateway = text === undefined ? undefined : readGateway(text)
  if (gateway && !gateway.ok) return gateway
  return async () => {
    const fetchPage = createFetchPage()
    const { report, isReached } = await checkShop({
      shop,
      key,
      gateway: gateway?.address,
      fetchPage,
      askGateway: createAskByHttp(fetchPage),
    })
    const hasErrors = report.findings.some(({ level }) => level === 'error')
    return {
      code: isReached ? Number(hasErrors) : EX_UNAVAILABLE,
      lines: json
        ? JSON.stringify(report, null, 2).split('\n').map(printableJson)
        : linesOf(report),
    }
  }
}

const WORDS: Readonly<Record<Level, string>> = {
  error: 'ERROR',
  warning: 'WARNING',
  note: 'note',
  ok: 'ok',
}

function linesOf({ shop, key, gateway, pages, findings }: CheckReport): readonly string[] {
  const read = pages.flatMap(({ status, url }) => (status === 200 ? [url] : []))
  return [
    `shop     ${shop}`,
    `key      ${key ?? 'none found; --key names one'}`,
    `gateway  ${gateway ?? 'none found; --gateway names one'}`,
    ...pages.map(
      ({ kind, url, status }, i) =>
        `${i === 0 ? 'pages' : '     '}    ${kind.padEnd(8)} ${status || '---'}  ${url}`,
    ),
    ...findings.flatMap((finding) => ['', ...findingLines(finding, read)]),
    '',
    summary(findings),
  ]
}

/**
 * Indented, so that a fix can be copied line by line.
 *
 * @param read The pages that were read. They are not named if the finding is about all of them.
 */
function findingLines(
  { level, message, fix, pages }: Finding,
  read: readonly string[],
): readonly string[] {
  const isEverywhere = `${pages}` === `${read}`
  const where = !isEverywhere ? pages.map((page) => `  on ${page}`) : []
  return [`${WORDS[level].padEnd(8)} ${message}`, ...where, ...fix.map((line) => `    ${line}`)]
}

function summary(findings: readonly Finding[]): string {
  const count = (level: Level, word: string) => {
    const { length } = findings.filter((finding) => finding.level === level)
    return `${length} ${word}${length === 1 ? '' : 's'}`
  }
  return `${count('error', 'error')}, ${count('warning', 'warning')}, ${count('note', 'note')}.`
}
