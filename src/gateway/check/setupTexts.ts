import { createHash } from 'node:crypto'
import { consentOf } from '../../contract/consentOf.ts'
import { CONSENT_TOOLS } from '../../contract/consentTools.ts'
import { GLOBAL } from '../../contract/settings.ts'
import type { CheckReport, CspLine, SetupTexts } from '../../contract/setup.ts'
import type { Customer } from '../customers/customers.ts'
import { allowsOrigin } from '../http/origins.ts'
import { stubOf, stubSource, tagOf } from './snippetLines.ts'

/**
 * The lines to paste into the pages of a shop, and the commands that are still missing.
 *
 * @param gateway The gateway's public address, without a slash at its end.
 * @param shop Address of a page of the shop.
 * @param found Result of a check of the shop, which names its consent tool. Default: not checked.
 * @throws TypeError if `shop` is not an absolute address.
 */
export function makeSetupTexts(
  customer: Pick<Customer, 'customerId' | 'trackingKey' | 'config' | 'origins'>,
  gateway: string,
  shop: string,
  found?: Pick<CheckReport, 'consent'>,
): SetupTexts {
  const { customerId, trackingKey, config, origins } = customer
  const { origin } = new URL(shop)
  const { global = GLOBAL } = config
  const isAllowed = allowsOrigin(origins, origin)
  const sources = config.consentSources ?? []
  const [tool] = found?.consent ?? []
  const suggested = tool?.source ?? 'auto'
  // Without a tool of the shop there is no reason to replace the sources that are set.
  const isSet = tool
    ? sources.includes(suggested) || (sources.includes('auto') && isOfAuto(suggested))
    : sources.length > 0
  const rule = consentOf(config)
  return {
    tag: tagOf(gateway, trackingKey),
    stub: stubOf(global),
    keepingStub: stubOf(global, true),
    global,
    csp: cspLines(gateway, global),
    consent: {
      rule,
      sources,
      suggested,
      title: tool?.title ?? null,
      command: isSet ? null : consentCommand(customerId, suggested, rule),
    },
    origin: {
      origin,
      isAllowed,
      command: isAllowed ? null : allowCommand(customerId, origins, origin),
    },
  }
}

/** What a Content-Security-Policy has to allow for the script. */
export function cspLines(gateway: string, name = GLOBAL): readonly CspLine[] {
  const address = `${gateway}/t/`
  const hashes = [false, true].map((keeps) => `'sha256-${sha256(stubSource(name, keeps))}'`)
  return [
    {
      directive: 'script-src',
      sources: address,
      why: 'The script and the files that it loads: the reader of load and visible, and the inspector of debug mode.',
    },
    { directive: 'connect-src', sources: address, why: 'The requests with the events.' },
    {
      directive: 'script-src',
      sources: hashes[0] as string,
      why: "The stub, if you use it and the policy has neither a nonce nor 'unsafe-inline'.",
    },
    {
      directive: 'script-src',
      sources: hashes[1] as string,
      why: 'The same for the stub that keeps its calls.',
    },
  ]
}

/** Whether `auto` reads a source, as it does every tool of the table. */
const isOfAuto = (source: string): boolean => CONSENT_TOOLS.some(({ name }) => name === source)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64')

/**
 * The command that makes a key ask for consent and take the answer from a source.
 *
 * @param rule What the key does now: one that counts visits without storing goes on to do so.
 */
export function consentCommand(
  customerId: string,
  source: string,
  rule: ReturnType<typeof consentOf> = 'granted',
): string {
  const consent = rule === 'granted' ? 'required' : rule
  const config = { consent, consentSources: [source] }
  return `npx shoptrail customer set ${customerId} --config ${quote(JSON.stringify(config))}`
}

/** The command that allows one more origin. It repeats the others, since it replaces all of them. */
export const allowCommand = (
  customerId: string,
  origins: readonly string[],
  origin: string,
): string =>
  `npx shoptrail customer set ${customerId} ${[...origins, origin].map((one) => `--origin ${quote(one)}`).join(' ')}`

/** A text as one word of a POSIX shell. */
const quote = (text: string): string =>
  /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
