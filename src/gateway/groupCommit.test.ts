import { expect, test } from 'vitest'
import { type EventLog, type LogEvent, type Outcome, Unavailable } from './eventLog.ts'
import { createGroupCommit } from './groupCommit.ts'

const makeEvent = (id: string, payload = '{}'): LogEvent => ({
  customer: 'demo',
  id,
  at: 0,
  receivedAt: 0,
  operation: 'search',
  event: 'search',
  did: 'd',
  bot: false,
  payload,
})

/** An engine whose commits end when the test says so. */
function createEngine() {
  const commits: { ids: string[]; end: (error?: Error) => void }[] = []
  const stored = new Set<string>()
  let probe = async () => {}
  const engine: EventLog = {
    append: (events) =>
      new Promise((resolve, reject) => {
        const outcomes = events.map(({ id }): Outcome => (id === 'old' ? 'duplicate' : 'stored'))
        commits.push({
          ids: events.map(({ id }) => id),
          end(error) {
            if (error) return reject(error)
            for (const { id } of events) stored.add(id)
            resolve(outcomes)
          },
        })
      }),
    has: async (_, ids) => ids.map((id) => stored.has(id)),
    read: async () => [],
    findTail: async () => ({ after: 0, newest: 0 }),
    subscribe: () => () => {},
    health: () => ({ writable: true }),
    probe: () => probe(),
    close: async () => {},
  }
  return {
    engine,
    commits,
    failProbe: () => {
      probe = () => Promise.reject(new Error('disk full'))
    },
  }
}

/** Lets what was settled be told. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('what arrives during a commit shares the next one, and each learns of its own', async () => {
  const { engine, commits } = createEngine()
  const sizes: number[] = []
  const log = createGroupCommit(engine, {}, (events) => sizes.push(events))
  const first = log.append([makeEvent('a')])
  const second = log.append([makeEvent('b'), makeEvent('old')])
  const third = log.append([makeEvent('c')])
  expect(commits.map(({ ids }) => ids)).toEqual([['a']])
  commits[0]?.end()
  expect(await first).toEqual(['stored'])
  await settle()
  expect(commits[1]?.ids).toEqual(['b', 'old', 'c'])
  commits[1]?.end()
  expect(await second).toEqual(['stored', 'duplicate'])
  expect(await third).toEqual(['stored'])
  await settle()
  expect(sizes).toEqual([1, 3])
  expect(log.depth()).toBe(0)
})

test('a commit takes at most about 512 events', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const all = Array.from({ length: 1_000 }, (_, i) => log.append([makeEvent(`${i}`)]))
  for (let i = 0; i < 3; i++) {
    await settle()
    commits[i]?.end()
  }
  await Promise.all(all)
  expect(commits.map(({ ids }) => ids.length)).toEqual([1, 512, 487])
})

test('a commit that fails is told to each of its senders; the next one goes on', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const failing = log.append([makeEvent('a')])
  const next = log.append([makeEvent('b')])
  commits[0]?.end(new Error('disk full'))
  await expect(failing).rejects.toMatchObject({ name: 'Unavailable', retryAfterSeconds: 5 })
  await settle()
  commits[1]?.end()
  expect(await next).toEqual(['stored'])
})

test('while commits fail the log is not healthy, and is again after one that does not', async () => {
  const { engine, commits, failProbe } = createEngine()
  failProbe()
  const log = createGroupCommit(engine, {}, () => {}, 0)
  const failing = log.append([makeEvent('a')])
  commits[0]?.end(new Error('disk full'))
  await expect(failing).rejects.toBeInstanceOf(Unavailable)
  expect(log.health()).toEqual({ writable: false, reason: 'the event log can not be written' })
  await settle()
  expect(log.health().writable).toBe(false)
  const good = log.append([makeEvent('b')])
  commits[1]?.end()
  await good
  expect(log.health().writable).toBe(true)
})

test('a balancer that sends nobody finds the log healthy again all the same', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine, {}, () => {}, 0)
  const failing = log.append([makeEvent('a')])
  commits[0]?.end(new Error('disk full'))
  await expect(failing).rejects.toBeInstanceOf(Unavailable)
  expect(log.health().writable).toBe(false)
  await settle()
  expect(log.health().writable).toBe(true)
})

test.each([
  ['events', { maxEvents: 2 }, '{}'],
  ['bytes', { maxBytes: 5_000 }, `"${'x'.repeat(1_900)}"`],
])(
  'above the bound of %s an append fails at once, and works again later',
  async (_, limits, payload) => {
    const { engine, commits } = createEngine()
    const log = createGroupCommit(engine, limits)
    const taken = [log.append([makeEvent('a', payload)]), log.append([makeEvent('b', payload)])]
    await expect(log.append([makeEvent('c', payload)])).rejects.toBeInstanceOf(Unavailable)
    expect(log.health().writable).toBe(false)
    commits[0]?.end()
    await settle()
    commits[1]?.end()
    await Promise.all(taken)
    await settle()
    expect(log.health().writable).toBe(true)
    const later = log.append([makeEvent('d', payload)])
    commits[2]?.end()
    expect(await later).toEqual(['stored'])
  },
)

test('a disk that hangs does not keep senders waiting, nor what waits behind it', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine, { deadlineMs: 1 })
  const outcomes = await Promise.allSettled([
    log.append([makeEvent('a')]),
    log.append([makeEvent('b')]),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  commits[0]?.end()
  await settle()
  expect(log.depth()).toBe(0)
  expect(commits).toHaveLength(1)
})

test('closing waits for what was accepted and takes no more', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const accepted = log.append([makeEvent('a')])
  const closed = log.close()
  await expect(log.append([makeEvent('b')])).rejects.toThrow('stopping')
  expect(log.health()).toEqual({ writable: false, reason: 'stopping' })
  commits[0]?.end()
  expect(await accepted).toEqual(['stored'])
  await closed
})

test('an id that waits to be stored is reported when it is decided', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const appends = [log.append([makeEvent('a')]), log.append([makeEvent('b')])]
  let told: readonly boolean[] | undefined
  const asked = log.has('demo', ['b', 'a', 'c']).then((has) => {
    told = has
  })
  commits[0]?.end()
  await appends[0]
  await settle()
  expect(told).toBeUndefined()
  commits[1]?.end()
  await asked
  expect(told).toEqual([true, true, false])
  expect(await log.has('demo', ['c'])).toEqual([false])
})

test('an id whose commit failed is reported as missing, not as an error', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const append = log.append([makeEvent('a')])
  const asked = log.has('demo', ['a'])
  commits[0]?.end(new Error('disk full'))
  await expect(append).rejects.toThrow(Unavailable)
  expect(await asked).toEqual([false])
})

test('asking a log that does not answer fails at the deadline', async () => {
  const { engine } = createEngine()
  const log = createGroupCommit({ ...engine, has: () => new Promise(() => {}) }, { deadlineMs: 20 })
  await expect(log.has('demo', ['a'])).rejects.toThrow('The event log answers too slowly')
  await log.close()
  await expect(log.has('demo', ['a'])).rejects.toThrow('The gateway is stopping')
})
