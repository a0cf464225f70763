import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from '../test/gateway.ts'
import { runCommandLine } from './cli.ts'
import { toCells } from './sqlite/cells.ts'
import { openForwardStore } from './sqlite/forwardStore.ts'
import { openStore } from './sqlite/store.ts'

const SECRET = 'a secret of the service'
const SERVICE = [
  ...['--kind', 'service', '--set', 'baseUrl=https://api.example'],
  ...['--set', 'customerId=12345', '--set', 'trackingKey=TRACK123'],
]

let folder: string

beforeEach(() => {
  folder = makeFolder()
  run('customer', 'add', '--id', 'shop', '--origin', 'https://shop.example')
})
afterEach(() => rmSync(folder, { recursive: true }))

const runWith = (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
  const outcome = runCommandLine(args, { DATA_DIR: folder, ...env })
  if (!('code' in outcome)) throw new Error('Expected an answer')
  const { code, stdout, stderr } = outcome
  return { code, text: [...stdout, ...stderr].join('\n') }
}
const run = (...args: readonly string[]) => runWith({}, ...args)

function add(...more: readonly string[]): string {
  const { code, text } = runWith(
    { FORWARD_REST_KEY: SECRET },
    ...['forward', 'add', 'shop', ...SERVICE, ...more],
  )
  expect(text).toContain('service: api.example, customer 12345')
  expect(code).toBe(0)
  return text.slice(0, 10)
}

const stored = (id: string) => {
  const store = openForwardStore(join(folder, 'forward.db'))
  try {
    return store.find(id)
  } finally {
    store.close()
  }
}

const idOf = (n: number) => `0190f3a2-7c41-7d11-9a3e-${String(n).padStart(12, '0')}`

/** Stores events, and makes a letter of each. */
function refuse(id: string, reasons: readonly string[]): void {
  const events = openStore(join(folder, 'events.db'))
  const payload = { did: 'd', event: 'search', url: 'https://shop.example/', search_term: 'mug' }
  events.append(
    toCells(
      reasons.map((_, i) => ({
        ...{ customer: 'shop', id: idOf(i + 1), at: 1, receivedAt: 1, operation: 'search' },
        ...{ event: 'search', did: 'd', bot: false, version: null },
        payload: JSON.stringify({ ...payload, http_user_agent: 'x', remote_addr: '::1' }),
      })),
    ),
  )
  events.close()
  const store = openForwardStore(join(folder, 'forward.db'))
  store.lease('test', [id], 0)
  store.settle(id, 'test', {
    ...{ delivered: 0, failed: 0, lost: 0, settledLetters: [] },
    refused: reasons.map((reason, i) => ({
      ...{ seq: i + 1, eventId: idOf(i + 1), operation: 'search', reason },
      ...{ firstAt: 0, lastAt: 0, attempts: 1 },
    })),
  })
  store.close()
}

test('a destination is added with its secret from the environment, listed, changed and removed', () => {
  const id = add('--name', 'Service', '--leave-out', 'remote_addr', '--operation', 'search')
  expect(stored(id)).toMatchObject({
    customer: 'shop',
    name: 'Service',
    operations: ['search'],
    leaveOut: ['remote_addr'],
    takesBots: false,
    // Digits are text where the kind takes text.
    settings: { customerId: '12345', restKey: SECRET },
  })
  const list = run('forward', 'list', 'shop').text
  expect(list).toContain(`${id} (Service)`)
  expect(list).toContain('leaves out remote_addr')
  expect(list).not.toContain(SECRET)
  expect(JSON.parse(run('forward', 'list', '--json').text)).toMatchObject([
    { destination: { id, settings: { customerId: '12345' } }, lagEvents: 0 },
  ])

  expect(run('forward', 'pause', id).text).toContain('state      paused')
  expect(run('forward', 'resume', id).text).toContain('state      running')
  const all = ['--operation', 'all', '--leave-out', 'city', '--leave-out', 'address']
  expect(run('forward', 'set', id, ...all).text).toContain('all events, orders and subscribers\n')
  const set = ['--operation', 'events', '--leave-out', 'none', '--bots', 'on', '--cookieless', 'on']
  expect(run('forward', 'set', id, ...set, '--set', 'apiPath=/v2').text).toContain(
    'all events, no orders and subscribers, also of bots and visitors without consent',
  )
  expect(run('forward', 'set', id, '--set', 'apiPath=null').code).toBe(0)
  expect(
    runWith({ FORWARD_SECRETS: '{"restKey":"another secret of it"}' }, 'forward', 'set', id).code,
  ).toBe(0)
  const { settings, ...rest } = stored(id) ?? {}
  expect(rest).toMatchObject({ name: 'Service', operations: [], leaveOut: [], takesBots: true })
  expect(settings).toEqual({
    ...{ baseUrl: 'https://api.example', customerId: '12345', trackingKey: 'TRACK123' },
    restKey: 'another secret of it',
  })

  const asked = run('forward', 'remove', id)
  expect(asked).toMatchObject({ code: 64, text: expect.stringContaining('--yes') })
  expect(run('forward', 'remove', id, '--yes').code).toBe(0)
  expect(run('forward', 'list').text).toContain('There are no destinations')
})

test.each<[string, readonly string[], string]>([
  ['without a customer', [], 'Expected the id of a customer'],
  ['of an unknown customer', ['shap', ...SERVICE], 'There is no customer shap'],
  ['without a kind', ['shop'], 'Expected --kind as one of service, webhook, ga4, file'],
  ['of an unknown kind', ['shop', '--kind', 'servise'], 'Did you mean service?'],
  ['without its secret', ['shop', ...SERVICE], 'FORWARD_REST_KEY='],
  ['with a secret in the command line', ['shop', ...SERVICE, '--set', 'restKey=x'], 'is a secret'],
  ['with a setting that is no pair', ['shop', ...SERVICE, '--set', 'apiPath'], 'NAME=VALUE'],
  ['with a setting twice', ['shop', ...SERVICE, '--set', 'baseUrl=x'], 'baseUrl=… only once'],
  ['with an unknown setting', ['shop', ...SERVICE, '--set', 'url=x'], 'There is no such setting'],
  [
    'with an unknown operation',
    ['shop', ...SERVICE, '--operation', 'serch'],
    'Did you mean search?',
  ],
  ['with an unknown field', ['shop', ...SERVICE, '--leave-out', 'ip'], 'There is no field ip'],
  ['without what the kind needs', ['shop', ...SERVICE, '--leave-out', 'did'], 'can not do without'],
  ['from no time', ['shop', ...SERVICE, '--from', 'yesterday'], 'Expected --from'],
  ['with an unclear switch', ['shop', ...SERVICE, '--bots', 'yes'], '--bots on or --bots off'],
])('no destination is added %s', (_, args, message) => {
  const { code, text } = run('forward', 'add', ...args)
  expect(text).toContain(message)
  expect(code).not.toBe(0)
  expect(run('forward', 'list').text).toContain('There are no destinations')
})

test('a fault of the secrets does not show them', () => {
  for (const env of [
    { FORWARD_SECRETS: `{"restKey":"${SECRET}"` },
    { FORWARD_SECRETS: `{"restKey":"${SECRET}","other":"${SECRET}"}` },
    { FORWARD_REST_KEY: SECRET.repeat(20) },
  ]) {
    const { code, text } = runWith(env, 'forward', 'add', 'shop', ...SERVICE)
    expect(code).toBe(64)
    expect(text).not.toContain(SECRET)
  }
})

test('nothing but add creates files', () => {
  expect(run('forward', 'list').code).toBe(0)
  expect(run('forward', 'pause', 'abc').text).toContain('There is no destination abc')
  expect(existsSync(join(folder, 'forward.db'))).toBe(false)
  expect(run('forward', 'list', 'shap')).toMatchObject({ code: 0 })
})

test('letters are listed, mended, replayed and discarded', () => {
  const id = add()
  refuse(id, ['No product', 'No product', 'Too late'])
  const { text } = run('forward', 'letters', id)
  expect(text).toContain('3 dead letters')
  expect(text).toContain('2  search  No product')
  expect(text).toContain(`3  ${idOf(3)}  search  1970-01-01T00:00:00Z  1 attempt  Too late`)
  expect(
    run('forward', 'letters', id, '--reason', 'No product', '--after', '1').text,
  ).not.toContain(idOf(1))
  expect(run('forward', 'mend', id).code).toBe(64)
  expect(run('forward', 'mend', id, '--patch', '[1]').code).toBe(64)
  const patch = ['--patch', '{"search_term":"cup"}', '--reason', 'No product']
  expect(run('forward', 'mend', id, ...patch).text).toBe(
    `Mended 2 dead letters. Next: npx shoptrail forward replay ${id} --reason 'No product'`,
  )
  const wrong = run('forward', 'mend', id, '--patch', '{"search_term":null}', '--letter', '3')
  expect(wrong.text).toMatch(
    / --letter 3\nLetter 3 could not be sent so\. The mended payload is invalid: search_term: /,
  )
  expect(run('forward', 'letters', id).text).toMatch(/ attempt {2}mended, invalid {2}Too late$/)
  expect(run('forward', 'mend', id, '--patch', 'none', '--letter', '3').code).toBe(0)
  for (const verb of ['replay', 'mend', 'discard'])
    expect(
      run(
        'forward',
        verb,
        id,
        ...['--letter', '9', ...(verb === 'mend' ? ['--patch', '{"a":1}'] : [])],
        ...(verb === 'discard' ? ['--yes'] : []),
      ).text,
    ).toBe('There are no such dead letters.')
  expect(run('forward', 'replay', id, '--letter', '1').text).toMatch(/^1 dead letter will be/)
  const page = JSON.parse(run('forward', 'letters', id, '--json').text)
  expect(page.letters).toMatchObject([
    { seq: 1, patch: { search_term: 'cup' }, isReplayed: true, payload: { search_term: 'cup' } },
    { seq: 2, patch: { search_term: 'cup' }, isReplayed: false },
    { seq: 3, patch: null, isReplayed: false },
  ])
  expect(run('forward', 'discard', id, '--operation', 'search')).toMatchObject({
    code: 64,
    text: expect.stringContaining('deletes 3 dead letters'),
  })
  expect(run('forward', 'discard', id, '--letter', '2', '--yes').text).toBe(
    'Discarded 1 dead letter',
  )
  expect(run('forward', 'letters', id).text).toContain('2 dead letters')
  expect(run('forward', 'letters', id, '--letter', 'x').code).toBe(64)
})

test('the help names every verb and option of forward', () => {
  const help = run('--help').text
  for (const word of ['add', 'list', 'set', 'letters', 'mend', 'replay', 'discard'])
    expect(help).toContain(`shoptrail forward ${word}`)
  for (const option of ['--kind', '--set', '--leave-out', '--cookieless', '--bots', '--patch'])
    expect(help).toContain(`  ${option} `)
})
