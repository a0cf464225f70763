// @vitest-environment happy-dom

import { readdirSync, readFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { findUntracked } from './findUntracked.ts'
import { toHtml } from './guess.ts'

const FIXTURES = `${import.meta.dirname}/fixtures`
const load = (name: string) =>
  new DOMParser().parseFromString(readFileSync(`${FIXTURES}/${name}.html`, 'utf8'), 'text/html')
const guess = (name: string, ...operations: string[]) =>
  findUntracked(load(name), new Set(operations)).map(
    (one) => `${one.element.localName}${one.count > 1 ? ` (${one.count})` : ''}: ${toHtml(one)}`,
  )

const EXPECTED: { readonly [fixture: string]: readonly string[] } = {
  'variable-product': [
    'form: data-track="search"',
    'button: data-track="addToCart" data-track-product-id="731" data-track-variation-id-from="[name=variation_id]" data-track-variation-sku="TEE" data-track-quantity-from="[name=quantity]"',
    'a: data-track="addToWishlist" data-track-product-id="731" data-track-variation-id-from="[name=variation_id]" data-track-variation-sku="TEE"',
    'main: data-track="viewProduct" data-track-on="load" data-track-product-id="TEE"',
  ],
  'product-list': [
    'a (3): data-track="addToCart" data-track-product-id="12" data-track-variation-id="12" data-track-variation-sku="MUG-BLUE"',
  ],
  'cart-add-form': [
    'form: data-track="search"',
    'form: data-track="setEmail"',
    'button: data-track="addToCart" data-track-product-id="8214417" data-track-variation-id-from="[name=id]" data-track-variation-sku-from="[name=id]" data-track-quantity-from="[name=quantity]"',
    'button: data-track="initiateCheckout"',
    'main: data-track="viewProduct" data-track-on="load" data-track-product-id="8214417"',
  ],
  'addtocart-form': [
    'form: data-track="search"',
    'form: data-track="setEmail"',
    'button: data-track="addToCart" data-track-product-id="1" data-track-variation-id="1" data-track-variation-sku="24-MB01" data-track-quantity-from="[name=qty]"',
    'a: data-track="addToWishlist" data-track-product-id="1" data-track-variation-id="1" data-track-variation-sku="24-MB01"',
    'div: data-track="viewProduct" data-track-on="load" data-track-product-id="24-MB01"',
  ],
  'id-product-form': [
    'form: data-track="search"',
    'form (2): data-track="setEmail"',
    'button: data-track="addToCart" data-track-product-id="19" data-track-quantity-from="[name=qty]"',
    'button: data-track="addToWishlist" data-track-product-id="19"',
  ],
  'fields-without-form': [
    'form: data-track="setEmail" data-track-email-address-from="[name=mail_address]" data-track-firstname-from="[name=prenume]" data-track-lastname-from="[name=nume]"',
    'button: data-track="addToCart" data-track-product-id="42" data-track-quantity-from="[name=quantity]"',
    'button: data-track="addToWishlist" data-track-product-id="42"',
  ],
  german: [
    'form: data-track="search" data-track-search-term-from="[name=sSearch]"',
    'form: data-track="setEmail"',
    'button: data-track="addToCart" data-track-product-id="…" data-track-quantity-from="[name=quantity]"',
    'button: data-track="addToWishlist" data-track-product-id="…"',
    'a: data-track="initiateCheckout"',
  ],
  checkout: [
    'form: data-track="setEmail" data-track-email-address-from="[name=email_address]" data-track-firstname-from="[name=first_name]" data-track-lastname-from="[name=last_name]" data-track-phone-from="[name=phone]"',
    'button: data-track="initiateCheckout"',
  ],
  tracked: [],
  'no-shop': [],
  'several-products': [],
}

test('every fixture is tested', () => {
  expect(readdirSync(FIXTURES).sort()).toEqual(
    Object.keys(EXPECTED)
      .map((name) => `${name}.html`)
      .sort(),
  )
})

test.each(Object.entries(EXPECTED))('%s', (name, expected) => {
  expect(guess(name)).toEqual(expected)
})

test('what the page has reported in another way is left out', () => {
  expect(guess('cart-add-form', 'addToCart', 'viewProduct', 'search')).toEqual([
    'form: data-track="setEmail"',
    'button: data-track="initiateCheckout"',
  ])
})

test('a guess says what it was recognised by, and what to check', () => {
  const [, , button] = findUntracked(load('cart-add-form'), new Set())
  expect(button?.why).toBe('a button for the cart: “Add to cart”')
  expect(button?.notes).toEqual([
    'The page names no SKU, so the id of the variation is sent in its place.',
    'Not needed if your code or a plugin reports it.',
  ])
})

beforeEach(() => {
  document.body.innerHTML = ''
})

/** "Add to cart" as shops write it. */
test.each([
  'Add to cart',
  'Add to bag',
  'In den Warenkorb',
  'Ajouter au panier',
  'Añadir al carrito',
  'Aggiungi al carrello',
  'In winkelwagen',
  'Dodaj do koszyka',
  'Adaugă în coș',
  'Adauga in cos',
  'Adicionar ao carrinho',
  'Kosárba teszem',
  'Vložit do košíku',
  'Lägg i varukorgen',
  'Læg i kurv',
  'Προσθήκη στο καλάθι',
  'Добавить в корзину',
  'Sepete ekle',
  'カートに入れる',
])('a button for the cart: %s', (text) => {
  document.body.innerHTML = `<button type="button">${text}</button>`
  expect(findUntracked(document, new Set())).toMatchObject([{ operation: 'addToCart' }])
})

test.each([
  ['Proceed to checkout', true],
  ['Zur Kasse', true],
  ['Valider mon panier', true],
  ['Finalizar compra', true],
  ['Vai alla cassa', true],
  ['Afrekenen', true],
  ['Finalizează comanda', true],
  ['Till kassan', true],
  ['How checkout works', false],
  ['Cart', false],
])('a button for the checkout: %s is one: %s', (text, is) => {
  document.body.innerHTML = `<button type="button">${text}</button>`
  expect(findUntracked(document, new Set()).map(({ operation }) => operation)).toEqual(
    is ? ['initiateCheckout'] : [],
  )
})

/** What shops have besides: links to the cart and the checkout, buttons of the cart, forms that are no newsletter. */
test.each([
  '<a class="header-cart" href="/warenkorb">Warenkorb <span>2</span></a>',
  '<a href="/carrello" class="btn-carrello">Carrello</a>',
  '<a href="/cart/">Перейти в корзину</a>',
  '<button class="warenkorb-toggle" aria-label="Warenkorb öffnen"></button>',
  '<form action="/carrito" method="post"><input type="hidden" name="id" value="4"><button>Actualizar</button></form>',
  '<a href="/p/5" data-product_id="5" class="button product_type_variable add_to_cart_button">Select options</a>',
  '<a href="/checkout/terms">Terms</a>',
  '<a href="https://social.example/share?u=/checkout">Share</a>',
  '<form action="/newsletter/unsubscribe"><input type="email" name="email"><button>Unsubscribe</button></form>',
  '<form method="post"><input name="method"><input name="term"><button>Vote</button></form>',
])('no guess: %s', (html) => {
  document.body.innerHTML = html
  expect(findUntracked(document, new Set())).toEqual([])
})

test.each([
  ['addToWishlist', '<a href="#" class="towishlist" data-action="add-to-wishlist">Add</a>'],
  ['addToCart', '<a href="javascript:void(0)" class="btn">In den Warenkorb</a>'],
  ['addToCart', '<a href="/checkout/cart/add/product/12/">Add to Cart</a>'],
  [
    'addToCart',
    '<form action="/warenkorb/add"><input name="product_id" value="4"><button>Kaufen</button></form>',
  ],
  ['initiateCheckout', '<a href="https://shop.example/en/checkout/">Pay now</a>'],
  ['initiateCheckout', '<a href="/index.php?route=checkout/checkout">Pay now</a>'],
  ['search', '<form method="get"><input name="method" type="hidden"><input name="q"></form>'],
])('%s is guessed: %s', (operation, html) => {
  document.body.innerHTML = html
  expect(findUntracked(document, new Set())).toMatchObject([{ operation }])
})

test('a search field without a form selects itself', () => {
  document.body.innerHTML = '<input type="search" id="find">'
  expect(findUntracked(document, new Set()).map(toHtml)).toEqual([
    'data-track="search" data-track-search-term-from="#find"',
  ])
})

test('a page of thousands of buttons gives few guesses', () => {
  document.body.innerHTML = Array.from(
    { length: 3_000 },
    (_, i) => `<button type="button" class="c${i}">Add to cart</button>`,
  ).join('')
  expect(findUntracked(document, new Set())).toHaveLength(30)
})

test('the page is not changed, and names on Object.prototype do not matter', () => {
  const page = load('cart-add-form')
  const before = page.documentElement.outerHTML
  Object.assign(Object.prototype, { sku: 'evil', '@graph': [{ '@type': 'Product', sku: 'x' }] })
  try {
    expect(findUntracked(page, new Set()).map(toHtml)).toContain(
      'data-track="viewProduct" data-track-on="load" data-track-product-id="8214417"',
    )
  } finally {
    for (const name of ['sku', '@graph']) Reflect.deleteProperty(Object.prototype, name)
  }
  expect(page.documentElement.outerHTML).toBe(before)
})
