import { jetstream } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import type { Broker } from '../gateway/nats/broker.ts'

type Subscribe = NatsConnection['subscribe']

/**
 * A broker whose first consumer sends heartbeats, but no messages, as one whose replica lags behind the leader. Others
 * work.
 *
 * @returns The broker, and how many messages were held back.
 */
export function silenceFirstConsumer(broker: Broker): { broker: Broker; held: () => number } {
  let silenced: string | undefined
  let held = 0
  const subscribe: Subscribe = (subject, { callback, ...options } = {}) =>
    broker.nc.subscribe(subject, {
      ...options,
      ...(callback && {
        callback(error: Error | null, message: Msg) {
          if (!error && message.reply?.startsWith('$JS.ACK.')) {
            silenced ??= subject
            if (silenced === subject) {
              held++
              return
            }
          }
          callback(error, message)
        },
      }),
    })
  const nc = new Proxy(broker.nc, {
    get(target, key) {
      if (key === 'subscribe') return subscribe
      const value = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { broker: { ...broker, nc, js: jetstream(nc) }, held: () => held }
}
