import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchPackage } from '../test/fetchPackage.ts'
import { type Installed, installPackage } from '../test/installPackage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

let installed: Installed
beforeAll(() => {
  installed = installPackage()
}, 120_000)
afterAll(() => installed?.remove())

/*
 * Code of consumers. If a type were `any`, a line with `@ts-expect-error` would compile, which is an error.
 */

const CLIENT = `
export async function consume(restKey: string | undefined): Promise<string> {
  const client = createClient({ customerId: 'c', restKey, baseUrl: 'https://gateway.example' })
  const { data, total } = await client.campaigns.list({ type: 'email' })
  const utm: string | undefined = data[0]?.tracking.utm_campaign
  const line = { product_id: 12, quantity: 1, variation: { id: '12-1', sku: 'MUG' } }
  const visitor = { did: 'd', url: 'https://s.example/', http_user_agent: 'a', remote_addr: '::1' }
  const { id } = await client.events.addToCart({ ...visitor, ...line })
  // @ts-expect-error a line has a quantity
  await client.events.addToCart({ ...visitor, ...line, quantity: undefined })
  // @ts-expect-error no such field in an answer
  id.nothing
  const order: Order = { number: 7, total_value: '1,234.50', products: [{ ...line, price: 5 }] }
  const saved = await client.orders.save(order)
  const stored: string = saved.stored ? saved.id : ''
  // @ts-expect-error a call that changed nothing has no id
  saved.id
  await client.subscribers.add({ email: 'ana@shop.example', attributes: { size: 'M' } })
  // @ts-expect-error a subscriber has an address
  await client.subscribers.remove({ channels: ['sms'] })
  try {
    await client.campaigns.getLatestCampaign(3)
  } catch (error) {
    if (error instanceof ValidationException) return error.issues.map(({ path }) => path).join()
    if (error instanceof ApiException && error.mayHaveArrived) return error.message
  }
  return id + total + utm + stored
}
`
const RUNTIME = `
export const controller = new AbortController()
export const settings: ClientOptions = { customerId: 'c', restKey: 'r', baseUrl: 'u', fetch, now: Date.now }
// @ts-expect-error a number is not a clock
export const dull: ClientOptions = { ...settings, now: 4 }
export const call = (client: Client) => client.campaigns.list({}, { signal: controller.signal })
// @ts-expect-error a text is not a signal
export const wrong = (client: Client) => client.campaigns.list({}, { signal: 'x' })
`
const CONTRACT = `
const line: EventInput<'addToCart'> = {
  did: 'd', event: EVENT_NAMES.addToCart, url: 'https://s.example/', http_user_agent: 'a', remote_addr: '::1',
  source: null, product_id: '12', quantity: 1, variation: { id: '12-1', sku: 'MUG' },
}
const checked = validate('addToCart', line)
export const id: number | string = checked.ok ? checked.payload.product_id : checked.error.message
// @ts-expect-error there is no such operation
validate('viewCategory', {})
// @ts-expect-error only a valid check has a payload
checked.payload
// @ts-expect-error a stored id is a number
export const stored: EventPayload<'addToCart'> = line
export const faults = (error: unknown) => (error instanceof Invalid ? error.issues.length : 0)
`
const TRACKER = `
export const tracker: TrackApi = createTracker({
  key: 'SHOPKEY', base: 'https://gateway.example', consent: 'required', mask: ['q'],
  parts: { pageViews, attributes, dataLayer, ga4, schemaOrg, consent, consentSources, deviceCookie },
})
export const outcome = async () => {
  const result = await tracker.addToCart({ product_id: 1, quantity: 1, variation: { id: '1', sku: 's' } })
  return result.ok ? result.id : result.error
}
// @ts-expect-error the key is missing
createTracker({ base: 'https://gateway.example' })
// @ts-expect-error a part is not a text
createTracker({ key: 'SHOPKEY', base: 'https://gateway.example', parts: { pageViews: 'all' } })
// @ts-expect-error a line has a quantity
tracker.addToCart({ product_id: 1, variation: { id: '1', sku: 's' } })
`
const STORAGE = `
createTracker({ key: 'SHOPKEY', base: 'https://gateway.example', storage: sessionStorage })
`
/** The package declares no global variable. */
const NO_GLOBAL = `
// @ts-expect-error there is no such variable
track.viewHomepage()
`
const NAMES =
  'attributes, consent, consentSources, createTracker, dataLayer, deviceCookie, ga4, pageViews, schemaOrg'
const IMPORT = `
import { ${NAMES} } from 'shoptrail'
import type { TrackApi } from 'shoptrail'
import { ApiException, createClient, ValidationException } from 'shoptrail/client'
import type { Client, ClientOptions, Order } from 'shoptrail/client'
import { EVENT_NAMES, validate, ValidationException as Invalid } from 'shoptrail/contract'
import type { EventInput, EventPayload } from 'shoptrail/contract'
`
const REQUIRE = `
import script = require('shoptrail')
import type { TrackApi } from 'shoptrail'
const { ${NAMES} } = script
import shoptrail = require('shoptrail/client')
import contract = require('shoptrail/contract')
import type { Client, ClientOptions, Order } from 'shoptrail/client'
import type { EventInput, EventPayload } from 'shoptrail/contract'
const { ApiException, createClient, ValidationException } = shoptrail
const { EVENT_NAMES, validate, ValidationException: Invalid } = contract
`
const GLOBAL = `/// <reference types="shoptrail/global" />
export const view = () => track.viewProduct({ product_id: 42 }).then(({ ok }) => ok && window.track.did)
// @ts-expect-error a line has a quantity
track.addToCart({ product_id: 1, variation: { id: '1', sku: 's' } })
`

type Files = Readonly<Record<string, string>>
type Options = Readonly<Record<string, unknown>>

const NODE: Options = { module: 'nodenext', moduleResolution: 'nodenext', types: ['node'] }
const DOM: Options = { lib: ['es2022', 'dom', 'dom.iterable'] }

const SERVER: Files = {
  'module.mts': IMPORT + TRACKER + NO_GLOBAL + CLIENT + RUNTIME + CONTRACT,
  'common.cts': IMPORT + TRACKER + NO_GLOBAL + CLIENT + RUNTIME + CONTRACT,
  'required.cts': REQUIRE + TRACKER + NO_GLOBAL + CLIENT + RUNTIME + CONTRACT,
}
/** Without the types of Node and of browsers. */
const BARE: Files = {
  'module.mts': IMPORT + TRACKER + NO_GLOBAL + CLIENT + CONTRACT,
  'required.cts': REQUIRE + TRACKER + NO_GLOBAL + CLIENT + CONTRACT,
}
const PAGE: Files = {
  'page.ts': IMPORT + TRACKER + STORAGE + CLIENT + RUNTIME + CONTRACT,
  'global.ts': GLOBAL,
}

type Case = readonly [name: string, files: Files, options: Options]

const nodenext: Case = ['nodenext, with the types of Node', SERVER, NODE]
const bundler: Case = [
  'bundler',
  PAGE,
  { ...DOM, module: 'esnext', moduleResolution: 'bundler', exactOptionalPropertyTypes: true },
]
const bare: Case = [
  'node16, with no types but those of JavaScript',
  BARE,
  { module: 'node16', moduleResolution: 'node16' },
]
const worker: Case = [
  'bundler, in a worker',
  { 'worker.ts': IMPORT + CLIENT + RUNTIME + CONTRACT },
  { lib: ['es2022', 'webworker'], module: 'esnext', moduleResolution: 'bundler' },
]
const node10: Case = [
  'node10',
  PAGE,
  { ...DOM, module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
]
const node10Old: Case = ['node10', PAGE, { ...node10[2], ignoreDeprecations: undefined }]

/** The repository's TypeScript, and the oldest and newest of each major version before. */
const COMPILERS: readonly [version: string, cases: readonly Case[]][] = [
  ['7', [nodenext, bundler, bare, worker]],
  ['6.0.3', [bundler, bare, node10]],
  ['5.9.3', [bundler, bare, node10Old]],
  ['5.0.4', [bundler, bare, node10Old]],
]

describe.each(COMPILERS)('TypeScript %s', (version, cases) => {
  let tsc: string
  beforeAll(() => {
    const folder =
      version === '7' ? join(root, 'node_modules/typescript') : fetchPackage('typescript', version)
    tsc = join(folder, 'bin/tsc')
  }, 300_000)

  test.each(cases)('%s has the types, and needs no others', (name, files, options) => {
    const project = join(installed.folder, `${version} ${name}`)
    mkdirSync(project)
    linkTypesOfNode()
    for (const [file, source] of Object.entries(files)) writeFileSync(join(project, file), source)
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      // TypeScript's own libraries take most of the time.
      skipDefaultLibCheck: true,
      target: 'es2022',
      lib: ['es2022'],
      types: [],
      ...options,
    }
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: Object.keys(files) }),
    )
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', project], {
      cwd: project,
      encoding: 'utf8',
    })
    expect(`${stdout} (${status})`).toBe(' (0)')
  })
})

/** For consumers that have them. An install would add them. */
function linkTypesOfNode(): void {
  const modules = join(installed.folder, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  for (const name of ['@types/node', 'undici-types'])
    try {
      symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
}
