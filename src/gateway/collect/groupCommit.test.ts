import { expect, test } from 'vitest'
import { Unavailable } from '../lib/unavailable.ts'
import type { EventLog, LogEvent, Outcome } from './eventLog.ts'
import { createGroupCommit } from './groupCommit.ts'

const makeEvent = (id: string, payload = '{}', customer = 'demo'): LogEvent => ({
  customer,
  id,
  at: 0,
  receivedAt: 0,
  operation: 'search',
  event: 'search',
  did: 'd',
  bot: false,
  version: null,
  payload,
})

/** An engine whose commits the test ends. */
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
    watchUsage: async () => {},
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

/** Lets the handlers of settled promises run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('appends during a commit share the next one, and each gets its own outcome', async () => {
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

test('a commit takes at most about 1,000 small events', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const all = Array.from({ length: 2_000 }, (_, i) => log.append([makeEvent(`${i}`)]))
  for (let i = 0; i < 3; i++) {
    await settle()
    commits[i]?.end()
  }
  await Promise.all(all)
  expect(commits.map(({ ids }) => ids.length)).toEqual([1, 1_021, 978])
})

test('a commit that fails rejects each of its appends, and the next one works', async () => {
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

test('the log is not healthy while commits fail, and healthy again after one succeeds', async () => {
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

test('the log becomes healthy again without any append', async () => {
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
  ['events', { maxEvents: 3 }, '{}'],
  ['bytes', { maxBytes: 7_500 }, `"${'x'.repeat(1_900)}"`],
])(
  'above the limit of %s an append fails at once, and works again later',
  async (_, limits, payload) => {
    const { engine, commits } = createEngine()
    const log = createGroupCommit(engine, limits)
    const taken = log.append([makeEvent('a', payload)])
    await expect(log.append([makeEvent('b', payload)])).rejects.toBeInstanceOf(Unavailable)
    expect(log.depth()).toBe(1)
    commits[0]?.end()
    await taken
    await settle()
    const later = log.append([makeEvent('d', payload)])
    commits[1]?.end()
    expect(await later).toEqual(['stored'])
  },
)

test('the log is not healthy while its queue is nearly full', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine, { maxEvents: 20 })
  const append = async (customer: string, from: number) => {
    let taken = 0
    for (const event of Array.from({ length: 20 }, (_, i) =>
      makeEvent(`${from + i}`, '{}', customer),
    ))
      log.append([event]).then(
        () => taken++,
        () => {},
      )
    await settle()
    return () => taken
  }
  const lanes = []
  for (let i = 0; i < 5; i++) {
    expect(log.health().writable).toBe(true)
    lanes.push(await append(`customer ${i}`, i * 20))
  }
  expect(log.health()).toEqual({ writable: false, reason: 'the queue of events is nearly full' })
  commits[0]?.end()
  await settle()
  commits[1]?.end()
  await settle()
  expect(lanes.map((taken) => taken())).toEqual([10, 5, 2, 1, 1])
  expect(log.health().writable).toBe(true)
})

/** Ids of each commit, by the customer's letter, as they are made one after another. */
async function commitAll(
  commits: ReturnType<typeof createEngine>['commits'],
  appends: readonly Promise<unknown>[],
): Promise<string[][]> {
  let done = false
  Promise.all(appends).then(() => {
    done = true
  })
  for (let i = 0; !done; i++) {
    commits[i]?.end()
    await settle()
  }
  return commits.map(({ ids }) => ids)
}

test('a customer with one event does not wait behind a thousand of another one', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const flood = Array.from({ length: 2_000 }, (_, i) => log.append([makeEvent(`a${i}`, '{}', 'a')]))
  const other = log.append([makeEvent('b', '{}', 'b')])
  const all = await commitAll(commits, [...flood, other])
  expect(all[1]).toContain('b')
  expect(all.flat().filter((id) => id.startsWith('a'))).toEqual(
    Array.from({ length: 2_000 }, (_, i) => `a${i}`),
  )
})

test('turns are by bytes: large events of one customer do not slow down the small ones of another', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const large = `"${'x'.repeat(100_000)}"`
  const flood = Array.from({ length: 60 }, (_, i) => log.append([makeEvent(`a${i}`, large, 'a')]))
  const small = Array.from({ length: 100 }, (_, i) => log.append([makeEvent(`b${i}`, '{}', 'b')]))
  const all = await commitAll(commits, [...flood, ...small])
  // 100 small events weigh less than two turns, and no commit is much longer than the bound.
  expect(all[1]?.filter((id) => id.startsWith('b'))).toHaveLength(100)
  for (const ids of all) expect(ids.filter((id) => id.startsWith('a')).length).toBeLessThan(7)
})

test('two customers that send as much as they can get half each, whatever the size of their events', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const large = `"${'x'.repeat(50_000)}"`
  const small = `"${'x'.repeat(5_000)}"`
  const flood = Array.from({ length: 40 }, (_, i) => log.append([makeEvent(`a${i}`, large, 'a')]))
  const other = Array.from({ length: 400 }, (_, i) => log.append([makeEvent(`b${i}`, small, 'b')]))
  const all = await commitAll(commits, [...flood, ...other])
  const half = all.slice(1, 9).flat()
  const bytesOfA = half.filter((id) => id.startsWith('a')).length * 50_514
  const bytesOfB = half.filter((id) => id.startsWith('b')).length * 5_514
  expect(bytesOfA / bytesOfB).toBeGreaterThan(0.8)
  expect(bytesOfA / bytesOfB).toBeLessThan(1.25)
})

test('however full one customer’s part of the queue is, others find room', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine, { maxEvents: 100 })
  const refused: string[] = []
  const appends: Promise<unknown>[] = []
  for (const customer of ['a', 'b', 'c', 'd'])
    for (let i = 0; i < 100; i++)
      appends.push(
        log
          .append([makeEvent(`${customer}${i}`, '{}', customer)])
          .catch(() => refused.push(customer)),
      )
  appends.push(log.append([makeEvent('e', '{}', 'e')]))
  await commitAll(commits, appends)
  const held = ['a', 'b', 'c', 'd'].map((one) => 100 - refused.filter((c) => c === one).length)
  expect(held).toEqual([50, 25, 12, 6])
})

test('a large append is spread over several commits, and is acknowledged when all of it is durable', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const payload = `"${'x'.repeat(10_000)}"`
  const ids = Array.from({ length: 100 }, (_, i) => (i === 77 ? 'old' : `${i}`))
  let outcomes: readonly Outcome[] | undefined
  const append = log.append(ids.map((id) => makeEvent(id, payload)))
  append.then((all) => {
    outcomes = all
  })
  for (let i = 0; i < commits.length; i++) {
    expect(outcomes).toBeUndefined()
    commits[i]?.end()
    await settle()
  }
  expect(commits.length).toBeGreaterThan(2)
  expect(commits.flatMap((commit) => commit.ids)).toEqual(ids)
  expect(outcomes).toEqual(ids.map((id) => (id === 'old' ? 'duplicate' : 'stored')))
})

test('a large append of which one commit fails is not acknowledged', async () => {
  const { engine, commits } = createEngine()
  const log = createGroupCommit(engine)
  const payload = `"${'x'.repeat(10_000)}"`
  const append = log.append(Array.from({ length: 100 }, (_, i) => makeEvent(`${i}`, payload)))
  commits[0]?.end()
  await settle()
  commits[1]?.end(new Error('disk full'))
  await expect(append).rejects.toBeInstanceOf(Unavailable)
  for (let i = 2; i < commits.length; i++) {
    commits[i]?.end()
    await settle()
  }
  expect(log.depth()).toBe(0)
})

test('a disk that hangs rejects appends after their deadline, the waiting ones too', async () => {
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

test('closing waits for accepted appends and rejects new ones', async () => {
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
  let answer: readonly boolean[] | undefined
  const asked = log.has('demo', ['b', 'a', 'c']).then((has) => {
    answer = has
  })
  commits[0]?.end()
  await appends[0]
  await settle()
  expect(answer).toBeUndefined()
  commits[1]?.end()
  await asked
  expect(answer).toEqual([true, true, false])
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

/** An engine of two groups: customers that begin with `a`, and others. */
function createGroups() {
  const { engine, commits, failProbe } = createEngine()
  const of = (customer: string) => (customer.startsWith('a') ? 0 : 1)
  return { engine: { ...engine, groups: { count: 2, of } }, commits, failProbe }
}

test('groups commit at the same time, and share no commit', async () => {
  const { engine, commits } = createGroups()
  const log = createGroupCommit(engine)
  const appends = ['a1', 'b1', 'a2', 'b2', 'a3', 'b3'].map((id) =>
    log.append([makeEvent(id, '{}', id[0])]),
  )
  expect(commits.map(({ ids }) => ids)).toEqual([['a1'], ['b1']])
  commits[1]?.end()
  await settle()
  expect(commits[2]?.ids).toEqual(['b2', 'b3'])
  const closed = log.close()
  for (let i = 0; i < 4; i++) {
    commits[i]?.end()
    await settle()
  }
  expect(commits[3]?.ids).toEqual(['a2', 'a3'])
  expect(await Promise.all(appends)).toEqual(Array(6).fill(['stored']))
  await closed
  expect(log.depth()).toBe(0)
})

test('the log is healthy while a group works, however the other one fails or hangs', async () => {
  const { engine, commits, failProbe } = createGroups()
  failProbe()
  const log = createGroupCommit(engine, { deadlineMs: 1 }, () => {}, 0)
  const failing = log.append([makeEvent('a', '{}', 'a')])
  commits[0]?.end(new Error('no leader'))
  await expect(failing).rejects.toBeInstanceOf(Unavailable)
  expect(log.health().writable).toBe(true)
  const hanging = log.append([makeEvent('b', '{}', 'b')])
  await expect(hanging).rejects.toThrow('too slowly')
  expect(log.health().writable).toBe(false)
  commits[1]?.end()
  await settle()
  expect(log.health().writable).toBe(true)
})
