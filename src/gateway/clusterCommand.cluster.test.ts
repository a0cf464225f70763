import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { takeAccount } from '../test/sharedCluster.ts'
import { runCommandLine } from './cli.ts'
import { hashSecret } from './lib/secret.ts'
import { type Broker, connectBroker } from './nats/broker.ts'
import { type NatsCustomers, openNatsCustomers } from './nats/customers.ts'

const folder = mkdtempSync(join(tmpdir(), 'cluster-command-'))
const account = takeAccount()
const env = {
  ENGINE: `nats://${account.servers.join(',')}`,
  NATS_USER: account.user,
  NATS_PASSWORD: account.password,
  DATA_DIR: join(folder, 'data'),
  PUBLIC_URL: 'https://gateway.example',
}
/** Longer than a second, for busy machines. */
const PATIENCE_MS = 20_000

let broker: Broker
let gateway: NatsCustomers
const errors: unknown[] = []

beforeAll(async () => {
  mkdirSync(join(folder, 'gateway'))
  mkdirSync(join(folder, 'temporary'))
  vi.stubEnv('TMPDIR', join(folder, 'temporary'))
  broker = await connectBroker(account)
  gateway = await openNatsCustomers({
    ...{ broker, folder: join(folder, 'gateway') },
    onError: (error) => errors.push(error),
  })
})
afterAll(async () => {
  await gateway.close()
  await broker.close()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
  expect(errors).toEqual([])
})

/** Runs a command line as the process does. */
async function run(line: string, changed: Readonly<Record<string, string>> = {}) {
  const outcome = runCommandLine(line.split(' '), { ...env, ...changed })
  if (outcome.work) {
    const { code, lines, errors: failures = [] } = await outcome.work()
    return { code, out: lines.join('\n'), err: failures.join('\n') }
  }
  const { code, stdout, stderr } = outcome as Extract<typeof outcome, { code: number }>
  return { code, out: stdout.join('\n'), err: stderr.join('\n') }
}

const wordAfter = (name: string, text: string): string =>
  new RegExp(`${name} +(\\S+)`).exec(text)?.[1] ?? ''

test('customers are added, listed, changed and removed in the cluster, and nothing stays here', async () => {
  expect((await run('customer list')).out).toContain('There are no customers in the cluster yet')
  const added = await run('customer add --id shop --origin https://shop.example')
  expect(added).toMatchObject({ code: 0, err: '' })
  expect(added.out).toContain('The customer is stored in the cluster.')
  const trackingKey = wordAfter('trackingKey', added.out)
  await vi.waitFor(() => {
    const found = gateway.customers.findByTrackingKey(trackingKey)
    expect(found?.restKeyHash).toEqual(hashSecret(wordAfter('restKey', added.out)))
  }, PATIENCE_MS)
  expect((await run('customer list')).out).toContain(trackingKey)

  const rotated = await run('customer rotate shop --key tracking')
  await vi.waitFor(() => {
    const key = wordAfter('trackingKey', rotated.out)
    expect(gateway.customers.findByTrackingKey(key)?.customerId).toBe('shop')
    expect(gateway.customers.findByTrackingKey(trackingKey)).toBeUndefined()
  }, PATIENCE_MS)

  expect(await run('customer add --id shop --origin https://shop.example')).toMatchObject({
    ...{ code: 1, out: '', err: 'The customer shop already exists' },
  })
  expect(await run('customer remove shop')).toMatchObject({ code: 64 })
  expect(await run('customer remove shop --yes')).toMatchObject({ code: 0 })
  await vi.waitFor(() => expect(gateway.customers.find('shop')).toBeUndefined(), PATIENCE_MS)
  expect(await run('customer set shop --name x')).toMatchObject({
    ...{ code: 1, err: 'There is no customer shop in the cluster' },
  })
  expect(readdirSync(folder).sort()).toEqual(['gateway', 'temporary'])
  expect(readdirSync(join(folder, 'temporary'))).toEqual([])
})

test('pinned scripts are listed and removed', async () => {
  const { customer } = gateway.customers.add({ customerId: 'pinned' })
  const hash = 'a'.repeat(64)
  gateway.pinned.add(customer.trackingKey, { hash, version: '1.0.0' }, Buffer.from('script'))
  await vi.waitFor(() => gateway.saved(), PATIENCE_MS)
  const snippet = `snippet --key ${customer.trackingKey}`
  expect((await run(`${snippet} --list`)).out).toContain(hash)
  expect(await run(`${snippet} --remove ${hash}`)).toMatchObject({ code: 0 })
  await vi.waitFor(
    () => expect(gateway.pinned.find(customer.trackingKey, hash)).toBeUndefined(),
    PATIENCE_MS,
  )
})

test('what is about files is refused, with what to do', async () => {
  expect((await run('backup there')).err).toContain('nats account backup')
  expect((await run('restore there')).err).toContain('nats account restore')
  for (const verb of ['accept', 'upgrade'])
    expect(await run(`data ${verb}`)).toMatchObject({
      ...{ code: 1, err: expect.stringContaining(`nothing to ${verb}`) },
    })
})

test('a cluster that can not be reached is named with its settings, without the password', async () => {
  const { code, err } = await run('customer list', { ENGINE: 'nats://127.0.0.1:9' })
  expect(code).toBe(1)
  expect(err).toMatch(/can not be reached at 127\.0\.0\.1:9 \(ENGINE\).*NATS_ settings/)
  expect(err).not.toContain(account.password)
})
