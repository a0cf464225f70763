import type { Order, OrderStatus, Payload, StoredCall } from '../contract/index.ts'
import type { Operate } from './operate.ts'
import type { CallOptions } from './options.ts'
import { type ApiRequest, post } from './request.ts'
import { type RestAddress, restUrlOf } from './restUrl.ts'

/**
 * The order operations. Each rejects with a ValidationException before any request, or with an ApiException. They are
 * retried if a request fails, since the gateway stores the same call once.
 */
export type Orders = {
  /**
   * Saves an order, or the new content of one: the gateway knows it by its `number`, and the last save wins. Amounts are
   * in the currency of the customer's settings. One that can not be read exactly in it is an ApiException with
   * `status: 422`, whose `issues` name the field.
   *
   * @param order `number`, `total_value` and `products` are required.
   * @example
   * await client.orders.save({
   *   number: 1001,
   *   email_address: 'ana@shop.example',
   *   total_value: '1,249.50',
   *   shipping: 15,
   *   products: [{ product_id: 42, price: '617.25', quantity: 2, variation_sku: 'TEE-S' }],
   * })
   */
  save(order: Order, options?: CallOptions): Promise<StoredCall>
  /**
   * Sets the status of an order. One for an order that is not saved yet is kept until it is.
   *
   * @example
   * await client.orders.updateStatus({ order_number: 1001, order_status: 'refunded' })
   */
  updateStatus(status: OrderStatus, options?: CallOptions): Promise<StoredCall>
}

export const saveOrderRequest = (
  settings: RestAddress,
  payload: Payload<'saveOrder'>,
): ApiRequest => post(restUrlOf(settings, 'save_order'), payload)

export const updateOrderStatusRequest = (
  settings: RestAddress,
  { order_number, order_status }: Payload<'updateOrderStatus'>,
): ApiRequest => ({
  method: 'GET',
  url: `${restUrlOf(settings, 'update_order_status')}&order_number=${encodeURIComponent(order_number)}&order_status=${encodeURIComponent(order_status)}`,
})

export const createOrders = (operate: Operate, settings: RestAddress): Orders => ({
  save: (order, options) =>
    operate('saveOrder', order, options, (payload) => saveOrderRequest(settings, payload)),
  updateStatus: (status, options) =>
    operate('updateOrderStatus', status, options, (payload) =>
      updateOrderStatusRequest(settings, payload),
    ),
})
