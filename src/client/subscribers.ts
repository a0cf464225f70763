import type {
  Payload,
  StoredCall,
  Subscriber,
  UnsubscribedPeriod,
  Unsubscriber,
} from '../contract/index.ts'
import type { Operate } from './operate.ts'
import type { CallOptions } from './options.ts'
import { type ApiRequest, post } from './request.ts'
import { type RestAddress, restUrlOf } from './restUrl.ts'

/**
 * The subscriber operations. Each rejects with a ValidationException before any request, or with an ApiException. They
 * are retried if a request fails, since the gateway stores the same call once, and `unsubscribed` only reads.
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
  /**
   * The addresses that were unsubscribed in a period, as they were sent, oldest first, without those that have
   * subscribed again. With a retention the gateway knows only those of its last days. A list that breaks off is an
   * ApiException: it is never only a part.
   *
   * @param period Both ends are part of it. Default `{}`: all addresses.
   * @example
   * const addresses = await client.subscribers.unsubscribed({ date_from: '2027-01-01', date_to: '2027-01-31' })
   */
  unsubscribed(period?: UnsubscribedPeriod, options?: CallOptions): Promise<readonly string[]>
}

export const addSubscriberRequest = (
  settings: RestAddress,
  payload: Payload<'addSubscriber'>,
): ApiRequest => post(restUrlOf(settings, 'add_subscriber'), payload)

export const removeSubscriberRequest = (
  settings: RestAddress,
  payload: Payload<'removeSubscriber'>,
): ApiRequest => post(restUrlOf(settings, 'remove_subscriber'), payload)

const unsubscribedEmailsRequest = (
  settings: RestAddress,
  { date_from, date_to }: Payload<'unsubscribedEmails'>,
): ApiRequest => {
  const from = date_from === undefined ? '' : `&date_from=${date_from}`
  const to = date_to === undefined ? '' : `&date_to=${date_to}`
  return { method: 'GET', url: `${restUrlOf(settings, 'unsubscribed_emails')}${from}${to}` }
}

export const createSubscribers = (operate: Operate, settings: RestAddress): Subscribers => ({
  add: (subscriber, options) =>
    operate('addSubscriber', subscriber, options, (payload) =>
      addSubscriberRequest(settings, payload),
    ),
  remove: (subscriber, options) =>
    operate('removeSubscriber', subscriber, options, (payload) =>
      removeSubscriberRequest(settings, payload),
    ),
  unsubscribed: (period = {}, options) =>
    operate('unsubscribedEmails', period, options, (payload) =>
      unsubscribedEmailsRequest(settings, payload),
    ),
})
