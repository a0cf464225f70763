import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import type { FoundConsent } from '../../contract/setup.ts'
import { consentCommand } from './setupTexts.ts'
import {
  found,
  type KnownSettings,
  type PageFinding,
  type ShopPage,
  type Wanted,
} from './shopPage.ts'

/** Interfaces that several tools offer, found by the calls in the page. */
const INTERFACES = [
  {
    source: 'consentMode',
    title: 'Google Consent Mode',
    pattern: /\bgtag\(\s*["']consent["']\s*,\s*["'](default|update)["']/,
  },
  {
    source: 'tcf',
    title: "IAB's Transparency and Consent Framework",
    pattern: /\b__tcfapi(Locator)?\b/,
  },
] as const

/** The consent tools of a shop, those that a row of the table describes first. */
export function findConsent(pages: readonly ShopPage[]): readonly FoundConsent[] {
  const scripts = pages.flatMap(({ page }) => page.scripts.filter(({ place }) => place === 'page'))
  const addresses = scripts.flatMap(({ src, attributes }) => [
    ...(src ? [src] : []),
    // A tool may hold back other scripts, whose address is then elsewhere.
    ...(attributes['data-src'] ? [attributes['data-src']] : []),
  ])
  const tools = CONSENT_TOOLS.filter((tool) => {
    const pattern = new RegExp(tool.scripts, 'i')
    return addresses.some((address) => pattern.test(address))
  }).map(({ name, title }) => ({ source: name, title }))
  const interfaces = INTERFACES.filter(({ pattern }) =>
    scripts.some(({ text }) => pattern.test(text)),
  ).map(({ source, title }) => ({ source, title }))
  return [...tools, ...interfaces]
}

/** Whether the key asks what the shop's consent tool knows. */
export function consentFindings(
  consent: readonly FoundConsent[],
  settings: KnownSettings | undefined,
  { customerId }: Wanted,
): readonly PageFinding[] {
  const [first] = consent
  const names = consent.map(({ title }) => title).join(', ')
  if (!first) {
    if (!settings || settings.consent === 'granted' || settings.sources.length === 0) return []
    return [
      found(
        'note',
        'consent-missing',
        `The key waits for the answer of ${settings.sources.join(', ')}, and no consent tool was found in the HTML. A tag manager may load it.`,
        ['See in debug mode whether the answer arrives: docs/consent.md.'],
      ),
    ]
  }
  const command = consentCommand(customerId, first.source, settings?.consent)
  if (!settings)
    return [found('note', 'consent-found', `The shop asks for consent with ${names}.`, [command])]
  const isRead = consent.some(({ source }) => isReadBy(settings, source))
  if (isRead)
    return [
      found(
        'ok',
        'consent-ok',
        `The shop asks for consent with ${names}, and the key takes the answer from it.`,
      ),
    ]
  return settings.consent === 'granted'
    ? [
        found(
          'warning',
          'consent-ignored',
          `The shop asks for consent with ${names}, and the key does not wait for the answer.`,
          [command],
        ),
      ]
    : [
        found(
          'warning',
          'consent-other',
          `The shop asks for consent with ${names}, and the key takes the answer from ${settings.sources.join(', ') || 'buttons of the shop'}.`,
          [command],
        ),
      ]
}

const isReadBy = ({ sources }: KnownSettings, source: string): boolean =>
  sources.includes(source) ||
  (sources.includes('auto') && CONSENT_TOOLS.some(({ name }) => name === source))
