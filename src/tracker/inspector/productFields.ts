import { readItem } from './describedProduct.ts'
import { fieldsOf } from './elementNames.ts'

/** Attributes and parameters in which shops write the id of a product. */
const ID_ATTRIBUTES = [
  'data-product_id',
  'data-product-id',
  'data-id-product',
  'data-productid',
  'data-pid',
]
const ID_PARAMETER = /[?&](?:add-to-cart|id_product|product_id|product|pid)=(\d+)/
export const ID_FIELD =
  '[name=product],[name=product_id],[name=product-id],[name=id_product],[name=add-to-cart],[name=productId],[name=pid],[name=id]'
export const VARIATION_FIELD =
  '[name=variation_id],[name=id_product_attribute],[name=variant],[name=variant_id],[name=variantId]'
export const SKU_ATTRIBUTES = ['data-product_sku', 'data-product-sku', 'data-sku']
export const QUANTITY_FIELD =
  'input[name^=quantity],input[name^=qty],select[name^=quantity],select[name^=qty],input[name=amount]'
/** A product card of a list, or the product of a page. */
export const CARD = `[itemtype*="schema.org/Product"],${ID_ATTRIBUTES.map((name) => `[${name}]`).join()},article,li`

/** How many elements around a control may belong to it, if it is in no form. */
const MAX_AROUND = 4

/** The form of a control, or the nearest element around it with the fields of a product. */
export function scopeOf(control: HTMLElement): Element | null {
  let scope: Element | null = control.closest('form')
  if (scope) return scope
  scope = control.parentElement
  for (let level = 0; scope && level < MAX_AROUND; level++, scope = scope.parentElement)
    if (scope.querySelector(`${ID_FIELD},${QUANTITY_FIELD}`)) return scope
  return null
}

/** The first of these attributes that an element has, and that is not empty. */
export const attributeOf = (element: Element | null | undefined, names: readonly string[]) =>
  names.map((name) => element?.getAttribute(name)?.trim()).find(Boolean)

/** The id of a product at a control: in its own attributes, its address, its form or its card. */
export function productIdOf(control: HTMLElement): string | undefined {
  const form = scopeOf(control)
  const card = control.closest(CARD)
  const value = (control as HTMLButtonElement).value
  return (
    attributeOf(control, ID_ATTRIBUTES) ??
    (/^(add-to-cart|product_id|id_product)$/.test(control.getAttribute('name') ?? '') && value
      ? value
      : undefined) ??
    ID_PARAMETER.exec(control.getAttribute('href') ?? '')?.[1] ??
    attributeOf(form, ID_ATTRIBUTES) ??
    (form && fieldsOf(form, ID_FIELD).find((field) => field.name !== 'id' && field.value)?.value) ??
    attributeOf(card, ID_ATTRIBUTES) ??
    (card?.matches('[itemtype]') ? readItem(card, 'productID') : undefined) ??
    undefined
  )
}
