import type { StoredCall, Subscriber, Unsubscriber } from '../contract/index.ts'
import type { Operate } from './operate.ts'
import type { CallOptions, Settings } from './options.ts'
import { post } from './request.ts'

/**
 * The subscriber operations. Each rejects with a ValidationException before any request, or with an ApiException. They
 * are retried if a request fails, since the gateway stores the same call once.
 */
export type Subscribers = {
  /**
   * Subscribes an e-mail address, or changes what is known of its subscriber. The gateway knows a subscriber by the
   * address in lower case, and the last call wins.
   *
   * @param subscriber Only `email` is required.
   * @example
   * await client.subscribers.add({
   *   email: 'ana@shop.example',
   *   firstname: 'Ana',
   *   add_tags: ['footer form'],
   *   attributes: { size: 'M' },
   * })
   */
  add(subscriber: Subscriber, options?: CallOptions): Promise<StoredCall>
  /**
   * Unsubscribes an e-mail address, from all channels if none are given.
   *
   * @example
   * await client.subscribers.remove({ email: 'ana@shop.example' })
   */
  remove(subscriber: Unsubscriber, options?: CallOptions): Promise<StoredCall>
}

export function createSubscribers(
  operate: Operate,
  { apiUrl, restKey, customerId }: Settings,
): Subscribers {
  const keys = `k=${encodeURIComponent(restKey)}&u=${encodeURIComponent(customerId)}`
  return {
    add: (subscriber, options) =>
      operate('addSubscriber', subscriber, options, (payload) =>
        post(`${apiUrl}/add_subscriber?${keys}`, payload),
      ),
    remove: (subscriber, options) =>
      operate('removeSubscriber', subscriber, options, (payload) =>
        post(`${apiUrl}/remove_subscriber?${keys}`, payload),
      ),
  }
}
