import type { Product } from './describedProduct.ts'
import { fieldsOf, namesOf, selectorOf } from './elementNames.ts'
import { type Found, UNKNOWN } from './guess.ts'
import {
  attributeOf,
  CARD,
  ID_FIELD,
  productIdOf,
  QUANTITY_FIELD,
  SKU_ATTRIBUTES,
  scopeOf,
  VARIATION_FIELD,
} from './productFields.ts'
import {
  CART_NAME,
  CART_TEXT,
  CHECKOUT_LINK,
  CHECKOUT_TEXT,
  CHOICE_NAME,
  WISHLIST_NAME,
  WISHLIST_TEXT,
} from './shopWords.ts'

/** A longer text is not that of a button. */
const MAX_BUTTON_TEXT = 60

type Attributes = (readonly [name: string, value: string])[]

/**
 * A button or link for the cart, the wishlist or the checkout.
 *
 * @param product The one product that the page describes.
 */
export function guessButton(control: HTMLElement, product: Product | undefined): Found | undefined {
  const texts = textsOf(control)
  const text = texts[0] ?? ''
  const says = (words: RegExp) => texts.some((one) => words.test(one))
  const names = namesOf(control)
  const form = control.closest('form')
  const isSubmit = control.matches('button:not([type]),[type=submit]')
  if (/remove|delete|entfern|supprimer|elimina/i.test(names) || CHOICE_NAME.test(names)) return
  if (WISHLIST_NAME.test(names) || says(WISHLIST_TEXT))
    return leadsAway(control) ? undefined : guessLine('addToWishlist', control, product, text)
  if (
    CART_NAME.test(names) ||
    says(CART_TEXT) ||
    (isSubmit && form && CART_NAME.test(namesOf(form)) && fieldsOf(form, ID_FIELD).length > 0)
  )
    return leadsAway(control) ? undefined : guessLine('addToCart', control, product, text)
  if (
    says(CHECKOUT_TEXT) ||
    (control.matches('a') && CHECKOUT_LINK.test(control.getAttribute('href') ?? '') && text)
  )
    return {
      operation: 'initiateCheckout',
      element: control,
      why: `a button for the checkout: ${quote(text)}`,
      attributes: [['data-track', 'initiateCheckout']],
      notes: ['Not needed if the page of the checkout reports it.'],
    }
  return
}

/** Whether a control is a link to the cart or the wishlist: it has an address, which adds nothing, and no product. */
function leadsAway(control: HTMLElement): boolean {
  const address = control.getAttribute('href') ?? ''
  return (
    control.matches('a') &&
    !/^(#|javascript:|$)/i.test(address) &&
    !/\badd|ajout|hinzu|dodaj|aggiungi/i.test(address) &&
    !productIdOf(control)
  )
}

/** The texts of a control: what a visitor sees, then what is read out. Those that are too long for a button are left out. */
const textsOf = (control: HTMLElement): string[] =>
  [
    control.textContent,
    (control as HTMLInputElement).value,
    control.getAttribute('aria-label'),
    control.title,
  ]
    .map((text) => (typeof text === 'string' ? text.replace(/\s+/g, ' ').trim() : ''))
    .filter((text) => text && text.length <= MAX_BUTTON_TEXT)

const quote = (text: string) => `“${text}”`

function guessLine(
  operation: 'addToCart' | 'addToWishlist',
  control: HTMLElement,
  product: Product | undefined,
  text: string,
): Found {
  const form = scopeOf(control)
  const own = productIdOf(control)
  // A form with nothing but `id` names the variation, or the product if the page does not say which.
  const bare = form && fieldsOf(form, '[name=id]')[0]
  const isProductPage = product && (form || !control.closest('li,article'))
  const id = own ?? (isProductPage ? product.id : undefined) ?? (product ? undefined : bare?.value)
  const isNumber = /^\d+$/.test(id ?? '')
  const attributes: Attributes = [
    ['data-track', operation],
    ['data-track-product-id', isNumber ? (id as string) : UNKNOWN],
  ]
  const notes: string[] = []
  if (!isNumber)
    notes.push(
      `Replace ${UNKNOWN} by the product's number in the shop${id ? `: the page names only ${quote(id)}` : ''}.`,
    )

  const variation =
    form && (fieldsOf(form, VARIATION_FIELD)[0] ?? (bare?.value === id ? undefined : bare))
  const sku =
    attributeOf(control, SKU_ATTRIBUTES) ??
    attributeOf(control.closest(CARD), SKU_ATTRIBUTES) ??
    (isProductPage ? product.sku : undefined)
  if (variation) {
    const selector = selectorOf(variation)
    attributes.push(['data-track-variation-id-from', selector])
    if (sku && sku !== id) {
      attributes.push(['data-track-variation-sku', sku])
      notes.push('If each variation has an SKU of its own, write that of the chosen one.')
    } else {
      attributes.push(['data-track-variation-sku-from', selector])
      notes.push('The page names no SKU, so the id of the variation is sent in its place.')
    }
  } else if (sku && sku !== id) {
    attributes.push(['data-track-variation-id', isNumber ? (id as string) : UNKNOWN])
    attributes.push(['data-track-variation-sku', sku])
  }

  const quantity = form && fieldsOf(form, QUANTITY_FIELD)[0]
  if (operation === 'addToCart' && quantity)
    attributes.push(['data-track-quantity-from', selectorOf(quantity)])
  notes.push('Not needed if your code or a plugin reports it.')
  return {
    operation,
    element: control,
    why: `${operation === 'addToCart' ? 'a button for the cart' : 'a button for the wishlist'}${text && `: ${quote(text)}`}`,
    attributes,
    notes,
  }
}
