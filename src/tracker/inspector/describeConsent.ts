import type { ConsentReader } from '../../contract/consentTools.ts'
import type { KeySettings } from '../../contract/settings.ts'
import type { Answered } from '../lib/consentSources.ts'

/** The settings of a key as the gateway serves them: `consentTools` has a row for each source. */
export type Served = KeySettings & { readonly consentTools?: readonly ConsentReader[] }

/** What is known about the consent on this page. */
export type Known = {
  /** `track.consentState`. */
  readonly state: Answered
  /** What the visitor has chosen on this shop, as the script remembers it. */
  readonly choice: Answered
  /** What each source says now. A source that was not found has no entry. */
  readonly answers: ReadonlyMap<string, Answered>
  /** The setting `consent`. */
  readonly mode: string
}

/** The row of the browser's own signals, which are always there. */
export const SIGNAL = 'signal'
const titleOf = (source: string): string =>
  source === SIGNAL ? "this browser's Global Privacy Control or Do Not Track" : source

const TEST = "For a test, answer the shop's question, or call track.consent('granted')."

/** The names in window of which one exists if a source is on the page. None for a source that only pushes. */
function namesOf({ state, load, rules }: ConsentReader): string[] {
  // Rules begin at the state. An empty path to the state is window itself.
  const paths = state?.length ? [state] : state ? rules.flatMap(([, ...all]) => all) : [load ?? []]
  return paths.flatMap(([first]) => (typeof first === 'string' ? first : (first?.[0] ?? [])))
}

/** Whether a source is on the page, by its names in window. */
export const isOnPage = (row: ConsentReader, page: object): boolean =>
  namesOf(row).some((name) => (page as { readonly [name: string]: unknown })[name] !== undefined)

/** The consent in words. */
export type ConsentFacts = {
  /** `consent is granted` */
  readonly title: string
  /** Where it comes from, what follows for events, and how to change it for a test. */
  readonly rows: readonly (readonly [label: 'by' | 'waits for' | 'so' | 'fix', text: string])[]
}

/** The consent, where it comes from, what follows for events, and how to change it for a test. */
export function consentFacts({ state, choice, answers, mode }: Known): ConsentFacts {
  const sources = [...answers].flatMap(([name, answer]) =>
    answer === state ? [titleOf(name)] : [],
  )
  if (!state)
    return {
      title: 'nobody has answered the question for consent',
      rows: [
        ...(sources.length > 0 ? [['waits for', sources.join(', ')] as const] : []),
        [
          'so',
          mode === 'cookieless'
            ? 'Events are sent without a device id, and nothing is stored.'
            : 'Events wait in the memory of this page. Nothing is stored or sent.',
        ],
        ['fix', TEST],
      ],
    }
  const chosen = choice === state ? ['the answer of this visitor on this shop (track.c)'] : []
  const from = [...chosen, ...sources].join(', ')
  if (state === 'granted')
    return {
      title: 'consent is granted',
      rows: [
        [
          'by',
          from ||
            (mode === 'granted'
              ? "the key's setting consent, and nobody has refused"
              : 'another tab of this shop'),
        ],
      ],
    }
  return {
    title: 'consent is denied',
    rows: [
      ['by', from || 'another tab of this shop'],
      ['so', 'Events are dropped. Nothing is stored or sent.'],
      [
        'fix',
        chosen.length > 0 || from === titleOf(SIGNAL)
          ? TEST
          : 'For a test, change the answer there.',
      ],
    ],
  }
}

/** The same as a text for the console. */
export const describeConsent = ({ title, rows }: ConsentFacts): string =>
  [`track: ${title}`, ...rows.map(([label, text]) => `  ${label}: ${text}`)].join('\n')

/** Whether the script of a key has the consent part, which other settings need too. */
const canAsk = ({ consentTools, exclude, cookieDomain, firstParty }: Served): boolean =>
  Boolean(consentTools || exclude?.length || cookieDomain || firstParty)

/**
 * The mistakes in the settings of consent that the script can not report.
 *
 * @param asked `data-consent` of the tag.
 */
export function findConsentFaults(served: Served, asked: string | undefined): string[] {
  const { consentTools = [], consentSources = [] } = served
  if (!canAsk(served))
    return asked && asked !== 'granted'
      ? [
          `track: nothing is recorded: the tag asks for consent (data-consent="${asked}"), and the script of this key can not ask\n  why: A script can ask for consent only if its key has a setting of consent.\n  fix: npx shoptrail customer set ID --config '{"consent":"${asked}"}', or '{"gpc":true}' if only some tags ask.`,
        ]
      : []
  const known = ['auto', 'consentMode', ...consentTools.map(({ name }) => name)]
  return consentSources
    .filter((name) => !known.includes(name))
    .map(
      (name) =>
        `track: the consent source ${name} is unknown, so it is ignored\n  why: The key's setting consentSources names it, and there is no such source.\n  fix: Correct its name in consentSources.`,
    )
}

/**
 * The sources of a key that were not found on the page.
 *
 * @param found The names of those that were found.
 * @param seconds How long the page was watched.
 */
export function findMissingSources(
  { consentTools = [], consentSources = [] }: Served,
  found: { has(name: string): boolean },
  seconds: number,
): string[] {
  const rows = consentTools.map(({ name }) => name)
  const missing = consentSources.filter(
    (name) => (name === 'consentMode' || rows.includes(name)) && !found.has(name),
  )
  const texts = missing.map(
    (name) =>
      `track: the consent source ${name} was not found on this page after ${seconds} seconds\n  why: ${
        name === 'consentMode'
          ? 'The page has pushed no `consent` command.'
          : 'It has not loaded, or it is a version that the script does not know.'
      }\n  fix: Load it on every page, or take it out of the key's setting consentSources.`,
  )
  const tools = rows.filter((name) => name !== SIGNAL && !consentSources.includes(name))
  return consentSources.includes('auto') && !rows.some((name) => name !== SIGNAL && found.has(name))
    ? [
        ...texts,
        `track: no consent tool was found on this page after ${seconds} seconds\n  why: The key's setting consentSources is "auto", which looks for: ${tools.join(', ')}.\n  fix: Load one of them on every page, or name another source in consentSources.`,
      ]
    : texts
}
