import { errors } from '@nats-io/transport-node'
import { expect, test, vi } from 'vitest'
import { makeLogEvent, publishEvent } from '../../test/followers.ts'
import { takeAccount } from '../../test/sharedCluster.ts'
import { connectBroker } from '../nats/broker.ts'
import { streamOf } from '../nats/names.ts'
import { openNatsSource } from './natsSource.ts'

test('the position of a time is that before the first event that was stored since, as the leader has it', async () => {
  const broker = await connectBroker({ ...takeAccount(), partitions: 1 })
  const source = openNatsSource(broker, 'shop')
  expect(await source.before(0)).toBe(0)
  const events: { readonly position: number; readonly at: number }[] = []
  for (const customer of ['other', 'shop', 'shop', 'other', 'other', 'shop', 'shop', 'other']) {
    const position = await publishEvent(broker, makeLogEvent({ customer }))
    const stored = await broker.jsm.streams.getMessage(streamOf(0), { seq: position })
    const at = stored?.time.getTime() ?? 0
    if (customer === 'shop') events.push({ position, at })
    // No two events of the same millisecond.
    await expect.poll(Date.now, { interval: 1 }).toBeGreaterThan(at)
  }
  const [first, erased, third, last] = events as Required<typeof events>
  await broker.jsm.streams.deleteMessage(streamOf(0), erased?.position as number)

  /** The kept events that an export from a time has. */
  const since = async (time: number) => {
    const before = await source.before(time)
    return [first, third, last].filter((one) => one && one.position > before)
  }
  expect(await since(0)).toEqual([first, third, last])
  expect(await since(first?.at as number)).toEqual([first, third, last])
  expect(await since(erased?.at as number)).toEqual([third, last])
  expect(await since((third?.at as number) + 1)).toEqual([last])
  expect(await since(last?.at as number)).toEqual([last])
  expect(await source.before((last?.at as number) + 1)).toBe(last?.position)

  const ask = vi.spyOn(broker.jsm.streams, 'getMessage')
  ask.mockRejectedValueOnce(new errors.TimeoutError())
  expect(await source.end()).toBe(last?.position)
  await source.close()
})
