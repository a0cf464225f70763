import { readFileSync } from 'node:fs'
import { createContext, runInContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, prepareGateway, recordsOf, type Sent, send } from '../test/gateway.ts'
import type { Gateway } from './index.ts'

/** A request of the fixture, and its expected result. */
type Vector = {
  readonly id: string
  readonly kind: string
  readonly input: {
    readonly method: string
    readonly target: string
    readonly headers?: Record<string, string>
    readonly body?: unknown
    readonly bodyText?: string
    readonly bodyPrefixHex?: string
    readonly peer?: string
    readonly repeat?: number
    readonly config?: string
  }
  readonly expected: {
    readonly status?: string
    readonly stored?: number
    readonly remote_addr?: string
    readonly http_user_agent?: string
    readonly names?: string
    readonly headers?: Record<string, string>
    readonly body?: string
    readonly same?: string
    readonly then?: string
  }
}

const vectors = JSON.parse(
  readFileSync(new URL('./fixtures/gateway.json', import.meta.url), 'utf8'),
) as readonly Vector[]

/** These need a process or a clock of their own: faults.test.ts has them. */
const ELSEWHERE = ['H-G-019', 'H-G-034']
const ORIGIN = 'https://shop.example'

/** Sockets of a test can come from 127.0.0.0/8 only. These addresses replace the peers of the vectors. */
const PEERS: Record<string, string> = { '198.51.100.7': '127.0.0.7', '10.0.0.2': '127.0.0.2' }
const peerOf = (address: string) => PEERS[address] ?? address

let prepared: Awaited<ReturnType<typeof prepareGateway>>
let direct: Gateway
let behindProxy: Gateway

beforeAll(async () => {
  prepared = await prepareGateway()
  direct = await prepared.start()
  behindProxy = await prepared.start({ trustedProxies: ['127.0.0.2'] })
  direct.customers.add({ trackingKey: 'ABC123', origins: [ORIGIN] })
})
afterAll(() => prepared.end())

const table = vectors.filter(({ id }) => !ELSEWHERE.includes(id))

test.each(table)('$id $kind', async ({ input, expected }) => {
  const gateway = input.config?.startsWith('one trusted proxy') ? behindProxy : direct
  const before = (await recordsOf(gateway)).length
  const target = targetOf(input.target)
  const answers = await Promise.all(
    Array.from({ length: input.repeat ?? 1 }, () => send(gateway.url, target, requestOf(input))),
  )
  const records = (await recordsOf(gateway)).slice(before)
  const [answer] = answers as [Answer]

  for (const one of answers) expectStatus(one, expected.status ?? '')
  if (answer.status >= 400 && input.target.includes('{EVENTS}'))
    expect(JSON.parse(answer.text)).toHaveProperty('message')
  if (expected.stored !== undefined) expect(records).toHaveLength(expected.stored)
  if (expected.remote_addr?.includes(' or ')) {
    expect(payloadOf(records).remote_addr).toBe('127.0.0.2')
  } else if (expected.remote_addr) {
    expect(payloadOf(records).remote_addr).toBe(
      expected.remote_addr === input.peer ? peerOf(input.peer) : expected.remote_addr,
    )
  }
  if (expected.http_user_agent)
    expect(payloadOf(records).http_user_agent).toBe(expected.http_user_agent)
  if (expected.names) expect(answer.text).toContain(`"path":"${expected.names}"`)
  if (expected.body === 'empty') expect(answer.bytes).toHaveLength(0)
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    expectHeader(answer.headers[name], value)
  if (expected.same) {
    const again = await send(gateway.url, target, requestOf(input))
    expect(again.bytes.equals(answer.bytes)).toBe(true)
  }
  if (expected.then) {
    const body = '{"did":"d-2","event":"e","url":"https://shop.example/","http_user_agent":"UA/1"}'
    await send(gateway.url, targetOf('{EVENTS}'), { ...requestOf(input), body })
    const following = (await recordsOf(gateway)).at(-1)
    expect(JSON.parse(following?.payload ?? '')).not.toHaveProperty('source')
  }
  expect(answer.text).not.toMatch(/<html|node_modules|\.ts:|root:/i)
  if (answer.headers['content-type']?.startsWith('text/javascript')) expectScript(answer)
})

/** `{EVENTS}` is POST /t/r of the customer, unless the vector has a key itself. */
function targetOf(template: string): string {
  const script = /^\{SCRIPT:(.*)\}$/.exec(template)?.[1]
  if (script !== undefined)
    return `/t/j/${script.includes('<') ? encodeURIComponent(script) : script}`
  const rest = template.replace('{EVENTS}', '').replace(/^[?&]/, '')
  return `/t/r?${/(^|&)k=/.test(rest) ? rest : `k=ABC123${rest && `&${rest}`}`}`
}

function requestOf({
  method,
  headers,
  body,
  bodyText,
  bodyPrefixHex,
  peer,
}: Vector['input']): Sent {
  const text = bodyText ?? (body === undefined ? undefined : JSON.stringify(body))
  return {
    method,
    headers: { origin: ORIGIN, ...headers },
    ...(peer && { peer: peerOf(peer) }),
    ...(text !== undefined && {
      body: Buffer.concat([Buffer.from(bodyPrefixHex ?? '', 'hex'), Buffer.from(text)]),
    }),
  }
}

/** Such as `2xx or 4xx`, `405`, `204 or 200`, `2xx each`. */
function expectStatus({ status }: Answer, expected: string): void {
  const allowed = expected.match(/\d(\d\d|xx)/g) ?? []
  expect(allowed.some((one) => new RegExp(`^${one.replace('xx', '..')}$`).test(`${status}`))).toBe(
    true,
  )
}

function expectHeader(value: string | string[] | undefined, expected: string): void {
  expect(value).toBeDefined()
  if (expected === 'present') return
  if (expected === '> 0') expect(Number(value)).toBeGreaterThan(0)
  else if (expected.startsWith('contains ')) expect(value).toContain(expected.slice(9))
  else expect(expected.split(' or ').some((one) => `${value}`.startsWith(one))).toBe(true)
}

function payloadOf(records: Awaited<ReturnType<typeof recordsOf>>): Record<string, unknown> {
  expect(records).toHaveLength(1)
  return JSON.parse(records[0]?.payload ?? '')
}

/** It parses, and a key in it stays text. */
function expectScript({ text }: Answer): void {
  runInContext(text, createContext({}))
}
