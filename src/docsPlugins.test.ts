import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateway } from './gateway/index.ts'
import { makeFolder, prepareGateway, recordsOf, send } from './test/gateway.ts'

/** The commands of docs/plugins.md, against a real gateway and real files. */

const root = new URL('../', import.meta.url)
const page = readFileSync(new URL('docs/plugins.md', root), 'utf8')
const blocks = [...page.matchAll(/^ *```\n(.*?)^ *```/gms)].map(([, block = '']) =>
  block.replace(/^ {3}(?=\S)/gm, ''),
)
const blockWith = (text: string): string => {
  const found = blocks.filter((block) => block.includes(text))
  if (found.length !== 1) throw new Error(`${found.length} blocks with ${text}`)
  return found[0] as string
}

const TRACKING_KEY = 'TRACKKEY1'
let prepared: Awaited<ReturnType<typeof prepareGateway>>
let gateway: Gateway
let restKey: string

beforeAll(async () => {
  prepared = await prepareGateway()
  gateway = await prepared.start()
  restKey = gateway.customers.add({
    customerId: 'CUST-1',
    trackingKey: TRACKING_KEY,
    origins: ['https://shop.example'],
  }).restKey
})
afterAll(() => prepared.end())

/** The words of a command, without the quotation marks around them. */
const wordsOf = (command: string): string[] =>
  [...command.replaceAll('\\\n', ' ').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )

/** Sends what a command of curl sends: `-d` as it is, `--data-urlencode` with the value encoded. */
function run(command: string) {
  const [, ...words] = wordsOf(
    command
      .replaceAll('RESTKEY', restKey)
      .replaceAll('TRACKINGKEY', TRACKING_KEY)
      .replaceAll('u=ID', 'u=CUST-1'),
  )
  const data: string[] = []
  const headers: Record<string, string> = {}
  let address = ''
  while (words.length > 0) {
    const word = words.shift() as string
    if (word === '-i') continue
    if (word === '-d') data.push(words.shift() as string)
    else if (word === '--data-urlencode') {
      const [, name, value = ''] = /^(\w+)=(.*)$/.exec(words.shift() as string) ?? []
      data.push(`${name}=${encodeURIComponent(value)}`)
    } else if (word === '-H') {
      const [name = '', value = ''] = (words.shift() as string).split(': ')
      headers[name] = value
    } else if (word.startsWith('https://gateway.example/'))
      address = word.slice('https://gateway.example'.length)
    else throw new Error(`The test does not know ${word}`)
  }
  if (data.length === 0) return send(gateway.url, address, { headers })
  headers['content-type'] = 'application/x-www-form-urlencoded'
  return send(gateway.url, address, { method: 'POST', headers, body: data.join('&') })
}

const commands = blocks.flatMap((block) => block.match(/^curl (?:\\\n|.)+/gm) ?? [])
const commandOf = (path: string): string => {
  const found = commands.find((command) => command.includes(path))
  if (!found) throw new Error(`There is no command with ${path}`)
  return found
}

test.each(commands.map((command) => [wordsOf(command)[2], command]))(
  '%s is answered 200',
  async (_, command) => {
    const { status, text } = await run(command as string)
    expect(status, text).toBe(200)
  },
)

test('the order is kept once, with its status and its amounts', async () => {
  const again = await run(commandOf('/save_order'))
  expect(JSON.parse(again.text)).toEqual({ stored: false })
  const records = (await recordsOf(gateway)).map(({ operation, payload }) => [
    operation,
    JSON.parse(payload),
  ])
  expect(records).toEqual([
    [
      'saveOrder',
      expect.objectContaining({
        number: '1',
        email_address: 'test@shop.example',
        total_value: '1249.50',
        currency: 'EUR',
        products: [
          expect.objectContaining({
            product_id: '42',
            price: '617.25',
            quantity: 2,
            price_minor: 61725,
          }),
        ],
      }),
    ],
    ['updateOrderStatus', { order_number: '1', order_status: 'cancelled' }],
    ['addSubscriber', { email: 'test@shop.example', name: 'Test' }],
    ['removeSubscriber', { email: 'test@shop.example' }],
  ])
})

test('the list has the address that has unsubscribed, and the reviews are an empty root', async () => {
  expect(JSON.parse((await run(commandOf('/unsubscribed_emails'))).text)).toEqual([
    'test@shop.example',
  ])
  const { text, headers } = await run(commandOf('/product_reviews'))
  expect(headers['content-type']).toContain('xml')
  expect(text).not.toContain('<review>')
})

test('what the page says does not exist is answered so', async () => {
  const call = (path: string) => send(gateway.url, `${path}?k=${restKey}&u=CUST-1`)
  expect((await call('/api/v1/other_operation')).status).toBe(501)
  expect((await call('/firebase.js')).status).toBe(404)
})

test('the command that replaces the host changes it everywhere, and keeps the files as they were', () => {
  const folder = makeFolder()
  const [, host = ''] = /`https:\/\/([^/`]+)\/t\/j\/`/.exec(page) ?? []
  expect(host).toMatch(/^t\./)
  const site = host.slice(2)
  const files = {
    'plugin/view.phtml': `s.src = 'https://${host}/t/j/' + KEY;\n`,
    'plugin/etc/csp_whitelist.xml': `<value type="host">${host}</value>\n`,
    'plugin/Observer.php': `$u = 'https://${host}/api/v1/save_order';\n`,
    'plugin/readme.txt': `See https://${site}/help\n`,
  }
  mkdirSync(join(folder, 'plugin/etc'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const shell = (command: string) =>
    execFileSync('sh', ['-c', command.replaceAll('FOLDER', 'plugin')], {
      cwd: folder,
      encoding: 'utf8',
    })
  const found = shell(blockWith('grep -rnoE'))
  expect(found.trim().split('\n').sort()).toEqual([
    `plugin/Observer.php:1:https://${host}/api/v1/save_order`,
    `plugin/readme.txt:1:https://${site}/help`,
    `plugin/view.phtml:1:https://${host}/t/j/`,
  ])
  shell(blockWith('sed -i'))
  for (const [name, text] of Object.entries(files)) {
    const changed = readFileSync(join(folder, name), 'utf8')
    expect(changed).toBe(text.replace(host, 't.shop.example'))
    if (changed !== text) expect(readFileSync(join(folder, `${name}.before`), 'utf8')).toBe(text)
  }
  // An update of the plugin brings the host back. The older copies stay as they are.
  const updated = `${files['plugin/Observer.php']}// newer\n`
  writeFileSync(join(folder, 'plugin/Observer.php'), updated)
  shell(blockWith('sed -i'))
  expect(readdirSync(join(folder, 'plugin')).sort()).toEqual([
    ...['Observer.php', 'Observer.php.before', 'etc', 'readme.txt'],
    ...['view.phtml', 'view.phtml.before'],
  ])
  const kept = (name: string) => readFileSync(join(folder, `plugin/${name}.before`), 'utf8')
  expect(kept('Observer.php')).toBe(updated)
  expect(kept('view.phtml')).toBe(files['plugin/view.phtml'])
  rmSync(folder, { recursive: true })
})

test('the commands that make a certificate make one that the authority vouches for', () => {
  const folder = makeFolder()
  const shell = (command: string) =>
    execFileSync('sh', ['-ec', command], { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  shell(blockWith('openssl req -x509').replaceAll('HOST', 'api.service.example'))
  expect(shell('openssl verify -CAfile ca.pem host.pem')).toContain('host.pem: OK')
  const text = shell('openssl x509 -in host.pem -noout -ext subjectAltName')
  expect(text).toContain('DNS:api.service.example')
  rmSync(folder, { recursive: true })
})
