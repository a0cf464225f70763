import { createHash } from 'node:crypto'
import { isLoopbackHost } from '../http/origins.ts'
import {
  allowsConnection,
  allowsInline,
  allowsScript,
  connectDirective,
  type Policy,
  scriptDirective,
} from './csp.ts'
import { findStub } from './findTags.ts'
import { found, type PageFinding, type PagePolicy, type ShopPage, type Wanted } from './shopPage.ts'
import { tagOf } from './snippetLines.ts'

/** What the Content-Security-Policies of a page forbid. */
export function policyFindings(shop: ShopPage, wanted: Wanted): readonly PageFinding[] {
  const { policies, url } = shop
  const forbidden = policies.flatMap((one) => forbiddenBy(one, shop, wanted))
  if (
    policies.some(({ isReportOnly }) => !isReportOnly) &&
    forbidden.every(({ level }) => level === 'note')
  )
    return [
      ...forbidden,
      found(
        'ok',
        'csp-ok',
        'The Content-Security-Policy allows the script and its requests.',
        [],
        url,
      ),
    ]
  return forbidden
}

function forbiddenBy(one: PagePolicy, shop: ShopPage, wanted: Wanted): readonly PageFinding[] {
  const { policy, from, isReportOnly, scriptsBefore } = one
  const { page, tags, url } = shop
  const { gateway, key } = wanted
  const findings: PageFinding[] = []
  const name = isReportOnly
    ? `A Content-Security-Policy that only reports (${from}) would forbid`
    : `The Content-Security-Policy (${from}) forbids`
  /** A policy that only reports keeps nothing from arriving. */
  const add = (level: PageFinding['level'], code: string, what: string, fix: readonly string[]) =>
    findings.push(
      found(
        isReportOnly ? 'note' : level,
        isReportOnly ? `${code}-reported` : code,
        `${name} ${what}`,
        fix,
        url,
      ),
    )
  const tag = tags.find((tag) => !tag.dead && tag.key === key)
  const { nonce, integrity } = tag?.script.attributes ?? {}
  const src = tag?.script.src ?? `${gateway}/t/j/${encodeURIComponent(key)}`
  const base = tag?.gateway ?? gateway
  const isBound = !tag || page.scripts.indexOf(tag.script) >= scriptsBefore
  const script = { url: src, nonce, integrity, isInHtml: true }
  if (isBound && !allowsScript(policy, script, url))
    add('error', 'csp-script', `the script: ${showScripts(policy)}.`, allowScript(policy, wanted))
  else {
    const files = [`${base}/t/p.js`, `${base}/t/i.js`].filter(
      (file) => !allowsScript(policy, { url: file, nonce, isInHtml: false }, url),
    )
    if (files.length > 0)
      add(
        'warning',
        'csp-files',
        `files that the script loads if it needs them: the reader of load and visible elements (/t/p.js), the inspector of debug mode (/t/i.js).`,
        allowScript(policy, wanted),
      )
  }
  if ([`${base}/t/r`, `${base}/t/batch`].some((target) => !allowsConnection(policy, target, url)))
    add(
      'error',
      'csp-connect',
      `the requests with the events: ${show(connectDirective(policy))}.`,
      [lineOf('connect-src', connectDirective(policy)?.values ?? [], `${gateway}/t/`)],
    )
  const stub = findStub(page)
  if (stub && page.scripts.indexOf(stub) >= scriptsBefore) {
    const hash = `sha256-${createHash('sha256').update(stub.text).digest('base64')}`
    if (!allowsInline(policy, hash, stub.attributes.nonce))
      add('error', 'csp-stub', `the stub: ${showScripts(policy)}.`, [
        lineOf('script-src', scriptDirective(policy)?.values ?? [], `'${hash}'`),
        'Or give the stub the nonce of the page.',
      ])
  }
  findings.push(...(isReportOnly ? [] : sandboxFindings(policy, shop)))
  return findings
}

const show = (directive: ReturnType<typeof scriptDirective>): string =>
  directive ? [directive.name, ...directive.values].join(' ').slice(0, 300) : ''
const showScripts = (policy: Policy): string => show(scriptDirective(policy))

/** A directive with one more source. */
function lineOf(directive: string, values: readonly string[], source: string): string {
  const kept = values.filter((value) => value.toLowerCase() !== "'none'")
  return [directive, ...kept, source].join(' ')
}

function allowScript(policy: Policy, { gateway, key }: Wanted): readonly string[] {
  const { name = 'script-src', values = [] } = scriptDirective(policy) ?? {}
  const hasNonce = values.some((value) => /^'nonce-/i.test(value))
  const isStrict = values.some((value) => /^'strict-dynamic'$/i.test(value))
  const withNonce = tagOf(gateway, key).replace('<script async', '<script async nonce="…"')
  if (isStrict)
    return [withNonce, 'In place of … stands the nonce that the page gives its other scripts.']
  const line = lineOf(name === 'default-src' ? 'script-src' : name, values, `${gateway}/t/`)
  return hasNonce
    ? [line, `Or with the nonce that the page gives its other scripts: ${withNonce}`]
    : [line]
}

/** A page that its policy puts into a sandbox has no scripts, or no origin. */
function sandboxFindings(policy: Policy, { url }: ShopPage): readonly PageFinding[] {
  const flags = policy.get('sandbox')?.map((flag) => flag.toLowerCase())
  if (!flags) return []
  if (!flags.includes('allow-scripts'))
    return [
      found(
        'error',
        'csp-sandbox',
        'The Content-Security-Policy puts the page into a sandbox without scripts.',
        [['sandbox', ...flags, 'allow-scripts allow-same-origin'].join(' ')],
        url,
      ),
    ]
  if (flags.includes('allow-same-origin')) return []
  return [
    found(
      'warning',
      'csp-sandbox',
      'The Content-Security-Policy puts the page into a sandbox without an origin: it has no storage, and its events come from the origin null.',
      [['sandbox', ...flags, 'allow-same-origin'].join(' ')],
      url,
    ),
  ]
}

/** A page of https loads nothing of http, except from this machine. */
export function mixedFindings(
  { url, policies }: ShopPage,
  { gateway, key }: Wanted,
): readonly PageFinding[] {
  const { protocol, hostname } = new URL(gateway)
  if (protocol !== 'http:' || !url.startsWith('https:')) return []
  const isUpgraded = policies.some(
    ({ policy, isReportOnly }) => !isReportOnly && policy.has('upgrade-insecure-requests'),
  )
  if (isUpgraded)
    return [
      found(
        'warning',
        'mixed-upgraded',
        `The gateway's address is ${gateway}, and the page's policy makes https of it. The gateway must answer there too.`,
        [tagOf(gateway.replace('http:', 'https:'), key)],
        url,
      ),
    ]
  if (isLoopbackHost(hostname)) return []
  return [
    found(
      'error',
      'mixed-content',
      `The page is https and the gateway's address is ${gateway}: browsers load nothing of http into it.`,
      [
        'Put the gateway behind https (docs/gateway.md), and set PUBLIC_URL to that address.',
        tagOf(gateway.replace('http:', 'https:'), key),
      ],
      url,
    ),
  ]
}
