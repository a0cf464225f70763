import { type Product, readProduct } from './describedProduct.ts'
import type { Found, Guess } from './guess.ts'
import { guessButton } from './guessButton.ts'
import { guessEmail, guessSearch, guessSearchField } from './guessForm.ts'

/** The most elements of a page that are looked at, and the most guesses. */
const MAX_CONTROLS = 600
const MAX_GUESSES = 30

/**
 * What could be tracked on a page and is not: search, newsletter and sign-in forms, buttons for the cart, the wishlist and
 * the checkout, and the page's product. Recognised by schema.org data, addresses, names and texts. It reads the page only.
 *
 * @param operations Those that the page has already reported, in whatever way. They are left out.
 */
export function findUntracked(page: Document, operations: ReadonlySet<string>): Guess[] {
  const product = readProduct(page)
  const found: Found[] = []
  const add = (one: Found | undefined) => {
    if (one && !operations.has(one.operation) && !isTracked(one)) found.push(one)
  }
  for (const form of [...page.querySelectorAll('form')].slice(0, MAX_CONTROLS)) {
    add(guessSearch(form))
    add(guessEmail(form))
  }
  for (const field of page.querySelectorAll<HTMLInputElement>('input[type=search]'))
    if (!field.form) add(guessSearchField(field))
  const controls = page.querySelectorAll<HTMLElement>(
    'button,a[href],input[type=submit],input[type=button],input[type=image],[role=button]',
  )
  for (const control of [...controls].slice(0, MAX_CONTROLS)) add(guessButton(control, product))
  if (product) add(guessProduct(page, product))
  return group(found).slice(0, MAX_GUESSES)
}

function guessProduct(page: Document, { id, why }: Product): Found | undefined {
  const element =
    page.querySelector<HTMLElement>('[itemtype*="schema.org/Product"]') ??
    page.querySelector<HTMLElement>('main') ??
    page.body
  return {
    operation: 'viewProduct',
    element,
    why,
    attributes: [
      ['data-track', 'viewProduct'],
      ['data-track-on', 'load'],
      ['data-track-product-id', id],
    ],
    notes: ["Or switch on the key's setting schemaOrg, which reads this description."],
  }
}

/** Whether an element with this helper is there already: the same one, one around it or one inside it. */
function isTracked({ element, operation }: Found): boolean {
  const selector = `[data-track="${operation}"]`
  return !!(element.closest(selector) ?? element.querySelector(selector))
}

/** Joins guesses that differ only in their values: the cards of a product list. */
function group(found: readonly Found[]): Guess[] {
  const groups = new Map<string, Guess>()
  for (const one of found) {
    const { operation, element, attributes } = one
    // A search form is often there twice: for large and for small screens.
    const look = /^(search|viewProduct)$/.test(operation)
      ? ''
      : element.localName + element.className
    const name = `${[operation, look, attributes.map(([attribute]) => attribute)]}`
    const known = groups.get(name)
    groups.set(name, known ? { ...known, count: known.count + 1 } : { ...one, count: 1 })
  }
  return [...groups.values()]
}
