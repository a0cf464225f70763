import { consentOf } from '../../contract/consentOf.ts'
import { DATA_LAYER_NAME, GLOBAL, type KeySettings } from '../../contract/settings.ts'
import type { Customer } from '../customers/customers.ts'
import { allowsOrigin } from '../http/origins.ts'
import type { AskGateway } from './checkShop.ts'
import type { Fetched, FetchPage } from './fetchPage.ts'
import { allowCommand } from './setupTexts.ts'
import { found, type KnownSettings, type PageFinding, type Wanted } from './shopPage.ts'
import { scriptAddress } from './snippetLines.ts'

/**
 * Asks the gateway of a customer without a request: it is this process.
 *
 * @returns Findings only about the origins: whether its script arrives is seen by a browser.
 */
export const createAskOwn =
  ({
    customerId,
    config,
    origins: allowed,
  }: Pick<Customer, 'customerId' | 'config' | 'origins'>): AskGateway =>
  async (_, origins) => ({
    settings: toKnown(config),
    findings: origins.map((origin) =>
      allowsOrigin(allowed, origin)
        ? allows(origin)
        : forbids(origin, [allowCommand(customerId, allowed, origin)]),
    ),
  })

const toKnown = (config: KeySettings): KnownSettings => ({
  consent: consentOf(config),
  sources: config.consentSources ?? [],
  ga4: !!config.ga4,
  dataLayer: config.dataLayer !== false || !!config.ga4,
  dataLayerName: config.dataLayerName ?? DATA_LAYER_NAME,
  schemaOrg: !!config.schemaOrg,
  global: config.global ?? GLOBAL,
})

/** Asks a gateway with the requests of a page: the script, and a batch without events. */
export const createAskByHttp =
  (fetchPage: FetchPage): AskGateway =>
  async (wanted, origins) => {
    const address = scriptAddress(wanted.gateway, wanted.key)
    const script = await fetchPage(address, { headers: { accept: '*/*' } })
    if (!script.ok)
      return {
        settings: undefined,
        findings: [
          found(
            'error',
            'gateway-unreachable',
            `The script ${address} can not be read: ${script.message}.`,
            ['Start the gateway, or correct the address: docs/gateway.md.'],
          ),
        ],
      }
    const findings = scriptFindings(script, address, wanted)
    if (findings.some(({ level }) => level === 'error')) return { settings: undefined, findings }
    const [settings, ...asked] = await Promise.all([
      readSettings(fetchPage, address),
      ...origins.map((origin) => askOrigin(fetchPage, wanted, origin)),
    ])
    return { settings, findings: [...findings, ...asked] }
  }

/** Longest time in which a cache may keep the script, seconds. The gateway says 300. */
const MAX_AGE_SECONDS = 86_400

function scriptFindings(script: Fetched, address: string, { key }: Wanted): readonly PageFinding[] {
  const { status, headers, body, redirects, url, sentBytes } = script
  const text = body.toString()
  if (status === 404 && text.includes('tracking key'))
    return [
      found('error', 'key-unknown', `The gateway has no customer with the key ${key}.`, [
        'npx shoptrail customer list',
      ]),
    ]
  if (status !== 200)
    return [
      found('error', 'script-status', `The script ${address} is answered ${status}.`, [
        'A proxy in front of the gateway must forward everything under /t/.',
      ]),
    ]
  const type = headers['content-type'] ?? ''
  if (!/^(text|application)\/(x-)?(java|ecma)script\b/i.test(type))
    return [
      found(
        'error',
        'script-type',
        `The script ${address} is answered as ${type.slice(0, 60) || 'nothing'}, which browsers do not run.`,
        ['A proxy in front of the gateway must forward everything under /t/, with its headers.'],
      ),
    ]
  if (!text.includes(`"key":${JSON.stringify(key)}`))
    return [
      found(
        'error',
        'script-changed',
        `What ${address} answers is not the script of the key ${key}.`,
        ['Exclude /t/ from everything that minifies or rewrites scripts.'],
      ),
    ]
  const findings: PageFinding[] = []
  const { 'content-encoding': coding, 'cache-control': caching = '' } = headers
  findings.push(
    found(
      'ok',
      'script-ok',
      `The script answers: ${(sentBytes / 1_000).toFixed(1)} kB${coding ? ` (${coding})` : ''}.`,
    ),
  )
  if (!coding)
    findings.push(
      found(
        'warning',
        'script-uncompressed',
        'The script arrives without compression, at three times its size.',
        ['A proxy in front of the gateway must forward the header Accept-Encoding.'],
      ),
    )
  if (redirects.length > 0)
    findings.push(
      found('warning', 'script-redirected', `The address of the script redirects to ${url}.`, [
        'Put the new address into the tag, and set PUBLIC_URL to it.',
      ]),
    )
  const age = Number(/\b(?:s-maxage|max-age)=(\d+)/i.exec(caching)?.[1])
  if (age > MAX_AGE_SECONDS)
    findings.push(
      found(
        'warning',
        'script-cached',
        `The script may be kept for ${Math.round(age / 86_400)} days (${caching.slice(0, 80)}), so changes of the settings arrive late.`,
        ['Do not let a proxy or a provider change the header Cache-Control of /t/.'],
      ),
    )
  const { 'cross-origin-resource-policy': resource = '' } = headers
  if (/^same-(origin|site)$/i.test(resource.trim()))
    findings.push(
      found(
        'error',
        'script-corp',
        `The script is answered with Cross-Origin-Resource-Policy: ${resource}, so pages of other hosts may not load it.`,
        ['Cross-Origin-Resource-Policy: cross-origin'],
      ),
    )
  return findings
}

/** The settings of a key, from the form of the script that is for servers. */
async function readSettings(
  fetchPage: FetchPage,
  address: string,
): Promise<KnownSettings | undefined> {
  const answer = await fetchPage(address, { headers: { accept: 'application/json' } })
  if (!answer.ok || answer.status !== 200) return undefined
  try {
    const { config } = JSON.parse(answer.body.toString()) as {
      config: KeySettings & { consentTools?: readonly { name: string }[]; consentTypes?: unknown }
    }
    const { consentTools = [], consentTypes, consent } = config
    const sources = consentTools.map(({ name }) => name)
    return {
      ...toKnown(config),
      sources: [...sources, ...(consentTypes ? ['consentMode'] : [])],
      consent: consent ?? 'granted',
    }
  } catch {
    // A gateway of another version, or not a gateway: the other findings say so.
    return undefined
  }
}

/** Sends a batch without events, as a page of this origin would. */
async function askOrigin(
  fetchPage: FetchPage,
  wanted: Wanted,
  origin: string,
): Promise<PageFinding> {
  const { gateway, key, customerId } = wanted
  const answer = await fetchPage(`${gateway}/t/batch?k=${encodeURIComponent(key)}`, {
    method: 'POST',
    headers: { origin, 'content-type': 'text/plain;charset=UTF-8' },
    body: JSON.stringify({ sent: Date.now(), events: [] }),
    // The script follows none either.
    maxRedirects: 0,
  })
  if (!answer.ok)
    return found(
      'error',
      'events-unreachable',
      `Events can not be sent to ${gateway}: ${answer.message}.`,
      [PROXY],
    )
  const { status, headers } = answer
  if (status === 403 && answer.body.toString().includes('Origin'))
    return forbids(origin, [
      `npx shoptrail customer set ${customerId} --origin ${origin}`,
      'It replaces the list of origins: repeat the others, which `npx shoptrail customer list` prints.',
    ])
  if (status === 429 || status === 503)
    return found(
      'warning',
      'gateway-busy',
      `The gateway answers ${status} now. Pages send their events later.`,
    )
  if (status !== 200)
    return found(
      'error',
      'events-status',
      `A request with events is answered ${status} instead of 200.`,
      [PROXY],
    )
  const readable = headers['access-control-allow-origin']
  if (readable !== '*' && readable !== origin && new URL(gateway).origin !== origin)
    return found(
      'error',
      'events-cors',
      'The answer to a request with events has no Access-Control-Allow-Origin, so the page can not read it, and sends each event again and again.',
      ['Access-Control-Allow-Origin: *', 'The gateway sends it: a proxy removes it.'],
    )
  return allows(origin)
}

const PROXY = 'A proxy in front of the gateway must forward everything under /t/, POST too.'

const allows = (origin: string): PageFinding =>
  found('ok', 'origin-ok', `Pages of ${origin} may send events with the key.`)

const forbids = (origin: string, fix: readonly string[]): PageFinding =>
  found(
    'error',
    'origin-forbidden',
    `Pages of ${origin} may not send events with the key: the gateway answers 403.`,
    fix,
  )
