import { object } from 'valibot'
import { listOf } from './lists.ts'
import {
  amount,
  idText,
  optionalAmount,
  optionalEmail,
  optionalText,
  quantity,
} from './serverFields.ts'

/** The most products of an order. */
export const MAX_PRODUCTS = 500

const product = object({
  product_id: idText,
  price: amount,
  quantity,
  variation_sku: optionalText,
})

/** Body of saveOrder. */
export const saveOrderSchema = object({
  number: idText,
  email_address: optionalEmail,
  phone: optionalText,
  firstname: optionalText,
  lastname: optionalText,
  city: optionalText,
  county: optionalText,
  address: optionalText,
  discount_value: optionalAmount,
  discount_code: optionalText,
  shipping: optionalAmount,
  tax: optionalAmount,
  total_value: amount,
  products: listOf(product, MAX_PRODUCTS, `a list of at most ${MAX_PRODUCTS} products`),
})

/** Query of updateOrderStatus. The status is a slug, a state, or the shop's own name in any language. */
export const updateOrderStatusSchema = object({ order_number: idText, order_status: idText })
