import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  makeLogEvent,
  publishEvent,
  startTestFollower,
  type TestFollower,
} from '../test/followers.ts'
import { startReceiver } from '../test/receiver.ts'
import { takeAccount } from '../test/sharedCluster.ts'
import { runCommandLine } from './cli.ts'
import { prepareForward, preparePerson } from './followerCommand.ts'
import type { StartTask } from './nats/follower/task.ts'
import { createForwardingTask } from './nats/follower/tasks/forwarding.ts'
import { startPeople } from './nats/follower/tasks/people.ts'

/** Long, for busy machines. A test starts several followers. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
const SOON = { timeout: 60_000, interval: 50 }
const account = takeAccount()
const receiver = await startReceiver()
afterAll(() => receiver.close())

const env = {
  ENGINE: `nats://${account.servers.join(',')}`,
  NATS_USER: account.user,
  NATS_PASSWORD: account.password,
  NATS_PARTITIONS: '1',
  FORWARD_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}

/** Runs a command line as the process does. */
async function run(...args: readonly string[]) {
  const { work } = runCommandLine(args, env)
  if (!work) throw new Error('Expected a command that takes a while')
  const { code, lines, errors = [] } = await work()
  return { code, out: lines.join('\n'), err: errors.join('\n') }
}

test('without a follower, commands say that one has to run', async () => {
  expect(await run('customer', 'add', '--id', 'shop', '--origin', 'null')).toMatchObject({
    code: 0,
  })
  const proofs = await run('person', 'proofs', '--customer', 'shop')
  expect(proofs).toMatchObject({ code: 1, err: expect.stringContaining('shoptrail follow') })
  const list = await run('forward', 'list')
  expect(list).toMatchObject({ code: 1, err: expect.stringContaining('shoptrail follow') })
})

/** Answers that do not come, as of a follower that dies when it has carried out what was asked. */
const unanswered = new Set<string>()
const CHANGES = ['addDestination', 'changeDestination', 'replayLetters', 'erasePerson']

/** A task whose answers may be missing. */
const mayDie =
  (startTask: StartTask): StartTask =>
  async (context) => {
    const { answers, stop } = await startTask(context)
    const wrapped = Object.entries(answers).map(([name, run]) => {
      const carryOut = run as (...args: readonly unknown[]) => Promise<unknown>
      const answer = async (...args: readonly unknown[]) => {
        const result = await carryOut(...args)
        return unanswered.has(name) ? new Promise(() => {}) : result
      }
      return [name, answer]
    })
    return { answers: Object.fromEntries(wrapped), stop }
  }

describe('with a follower', () => {
  let follower: TestFollower
  beforeAll(async () => {
    follower = await startTestFollower({
      account,
      tasks: [mayDie(startPeople), mayDie(createForwardingTask())],
      customers: [{ id: 'shop' }],
    })
  })
  afterAll(() => follower.stop(true))

  test('destinations and persons of a cluster are listed and changed as those of a folder', async () => {
    await publishEvent(follower.broker, makeLogEvent({ customer: 'shop', did: 'd-ana' }))
    await publishEvent(follower.broker, makeLogEvent({ customer: 'shop', did: 'd-ben' }))
    await expect.poll(() => run('forward', 'list'), SOON).toMatchObject({ code: 0 })
    expect((await run('forward', 'list')).out).toContain('There are no destinations in the cluster')

    const kind = ['--kind', 'webhook', '--from', 'beginning']
    expect(await run('forward', 'add', 'nobody', ...kind)).toMatchObject({
      ...{ code: 1, err: 'There is no customer nobody in the cluster' },
    })
    const added = await run('forward', 'add', 'shop', ...kind, '--set', `url=${receiver.url}/`)
    expect(added).toMatchObject({ code: 0, err: '' })
    const id = added.out.slice(0, 10)
    await receiver.wait(1)
    expect(await run('forward', 'pause', id)).toMatchObject({ code: 0 })
    expect((await run('forward', 'list', 'shop')).out).toContain('paused')
    expect(await run('forward', 'pause', 'no-such-id')).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('There is no destination no-such-id') },
    })
    expect(await run('forward', 'remove', id, '--yes')).toMatchObject({ out: `Removed ${id}` })

    const ana = ['--customer', 'shop', '--did', 'd-ana']
    const stdout = new PassThrough()
    const exported = preparePerson(
      'export',
      { customer: 'shop', did: 'd-ana' },
      { ...account, partitions: 1 },
      stdout,
    )()
    expect(await exported).toEqual({ code: 0, lines: [] })
    stdout.end()
    expect(JSON.parse(await text(stdout)).events).toHaveLength(1)
    const asked = await run('person', 'erase', ...ana)
    expect(asked).toMatchObject({ code: 64, err: expect.stringContaining('This removes 1 event') })
    const erased = await run('person', 'erase', ...ana, '--yes')
    expect(erased).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('Removed 1 event'),
    })
    expect(await run('person', 'erase', ...ana, '--yes')).toMatchObject({ code: 1 })
    expect((await run('person', 'proofs', '--customer', 'shop')).out).toMatch(/^1 {2}.*1 event/)
    expect(await run('person', 'proofs', '--customer', 'nobody')).toMatchObject({
      ...{ code: 1, err: 'There is no customer nobody in the cluster' },
    })
    expect(follower.errors).toEqual([])
  })

  test('a change whose follower dies is reported as unknown, with the command that shows it', async () => {
    const cluster = { ...account, partitions: 1 }
    const timeoutMs = 500
    const forward = async (words: readonly string[], options = {}) =>
      prepareForward(words, options, cluster, env, timeoutMs)()
    const unknown = 'answers too slowly. It is not known whether the change was made.'
    await publishEvent(follower.broker, makeLogEvent({ customer: 'shop', did: 'd-eva' }))
    for (const name of CHANGES) unanswered.add(name)
    const added = await forward(['add', 'shop'], { kind: 'webhook', set: [`url=${receiver.url}/`] })
    const look = 'Look before you repeat it: npx shoptrail forward list shop'
    expect(added).toMatchObject({
      code: 1,
      errors: [expect.stringContaining(`${unknown} ${look}`)],
    })
    const list = async () => (await run('forward', 'list', 'shop')).out
    await expect.poll(list, SOON).toContain('webhook')
    const id = (await list()).slice(0, 10)

    const [paused, replayed, erased] = await Promise.all([
      forward(['pause', id]),
      forward(['replay', id]),
      preparePerson(
        'erase',
        { customer: 'shop', did: 'd-eva', yes: true },
        cluster,
        process.stdout,
        timeoutMs,
      )(),
    ])
    expect(paused.errors?.join()).toContain(`${unknown} ${look}`)
    expect(replayed.errors?.join()).toContain(
      `${unknown} Look before you repeat it: npx shoptrail forward letters ${id}`,
    )
    expect(erased.errors?.join()).toContain(
      `${unknown} Repeat the command: it removes what is left.`,
    )
    await expect.poll(list, SOON).toContain('paused')
  })
})
