import { REPORTED_REASONS } from '../../contract/problems.ts'
import { FIELD_RULES } from './fieldRules.ts'
import { OPERATIONS } from './operations.ts'
import { pagePath } from './pagePath.ts'
import type { Fault } from './problems.ts'

/** The longest report, characters as it is encoded in the query. A script sends at most 1,500 before that. */
const MAX_CHARACTERS = 6_144
/** Entries that are read. A page has few kinds of faults. */
const MAX_ENTRIES = 40
/** The most that an entry counts as, since anybody can send a report. */
const MAX_COUNT = 1_000

/** A report of lines that is as long as this, characters, may have been cut in its last line. */
const CUT_CHARACTERS = 1_500

/**
 * Reads what a page has dropped, percent-encoded as in the query. The script sends a line `reason,operation,path,page`
 * for each dropped event. Others may send `{"reason,operation,path,page": count}`. Operation and path may be empty, the
 * page may contain commas.
 *
 * Anybody can send a report: only names that the contract has are taken, and the page is shortened and masked. What is
 * not understood is left out.
 */
export function readPageReport(encoded: string): readonly (Fault & { readonly count: number })[] {
  if (encoded.length > MAX_CHARACTERS) return []
  return parse(encoded)
    .slice(0, MAX_ENTRIES)
    .flatMap(([key, count]) => {
      const fault = readKey(key)
      return fault && isCount(count) ? [{ ...fault, count: Math.min(count, MAX_COUNT) }] : []
    })
}

/** The entries, each once. None if the text can not be read. */
function parse(encoded: string): (readonly [key: string, count: unknown])[] {
  try {
    const text = decodeURIComponent(encoded)
    return text.startsWith('{') ? Object.entries(JSON.parse(text)) : countLines(text)
  } catch {
    return []
  }
}

function countLines(text: string): [string, number][] {
  const lines = text.split('\n')
  if (text.length >= CUT_CHARACTERS && lines.length > 1) lines.pop()
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return [...counts]
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

function readKey(key: string): Fault | undefined {
  const [, named, operation = '', path = '', page = ''] =
    /^([^,]*),([^,]*),([^,]*),(.*)$/s.exec(key) ?? []
  const reason = REPORTED_REASONS.find((name) => name === named)
  if (!reason) return undefined
  return {
    reason,
    source: 'page',
    operation: OPERATIONS.has(operation) ? operation : '',
    path: Object.hasOwn(FIELD_RULES, path) ? path : '',
    page: pagePath(page),
  }
}
