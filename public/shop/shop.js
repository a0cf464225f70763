/**
 * The demo shop's behaviour. It reports to `track` the way a shop's own code would: the shop does its
 * work first, then tells; nothing waits for an answer.
 */
import { picture, render, toast } from './draw.js'
import { findProduct, findProducts, money, products } from './products.js'
import { cart, wishlist } from './stores.js'

/** @typedef {import('./products.js').Product} Product */
/** @typedef {import('./products.js').Variation} Variation */

const query = new URLSearchParams(location.search)
const $ = (/** @type {string} */ selector) => document.querySelector(selector)

/** What the four line helpers take: numbers as numbers, the variation's id and sku as text. */
const line = (
  /** @type {Product} */ product,
  /** @type {Variation} */ variation,
  /** @type {number} */ quantity,
) => ({
  product_id: product.id,
  quantity,
  variation: { id: variation.id, sku: variation.sku },
})

const pages = { home, category, product, search, wishlist: wishlistPage, cart: cartPage, checkout }

showCounts()
addEventListener('storage', showCounts)
$('#newsletter').addEventListener('submit', joinNewsletter)
pages[document.body.dataset.page]()

function home() {
  showShelf(products.slice(0, 8))
  track.viewHomepage()
}

function category() {
  const group = query.get('c')
  const shown = products.filter((one) => group === null || one.group === group)
  const title = { ceramics: 'Ceramics', tea: 'Tea' }[group] ?? 'Everything'
  document.title = `${title} · Saltmarsh`
  $('h1').textContent = title
  $('#found').textContent = `${shown.length} things on the shelf`
  $(`nav.main [href$="c=${group}"]`)?.setAttribute('aria-current', 'page')
  showShelf(shown)
}

function search() {
  const term = (query.get('q') ?? '').trim()
  const found = findProducts(term)
  $('.find input').value = term
  $('h1').textContent = term ? `“${term}”` : 'What are you looking for?'
  $('#found').textContent = term ? `${found.length} found` : ''
  $('#nothing').hidden = !term || found.length > 0
  showShelf(found)
  if (term) track.search({ search_term: term })
}

function product() {
  const one = findProduct(Number(query.get('id')))
  $('#unknown').hidden = one !== undefined
  $('.product').hidden = one === undefined
  $('#more').hidden = one === undefined
  if (!one) return
  document.title = `${one.name} · Saltmarsh`
  $('h1').textContent = one.name
  $('.lead').textContent = one.lead
  $('#text').textContent = one.text
  $('.crumbs a').href = `category.html?c=${one.group}`
  $('.crumbs a').textContent = one.group === 'tea' ? 'Tea' : 'Ceramics'
  $('.stage').classList.add(one.tint)
  $('.choices legend').textContent = one.choice
  render(
    $('.facts'),
    one.facts.map((fact) => ['li', {}, fact]),
  )
  const wanted = query.get('v')
  const first = one.variations.find(({ id }) => id === wanted) ?? one.variations[0]
  $('.choices').append(...one.variations.map((variation) => choice(variation, variation === first)))

  const chosen = () => {
    const { value } = $('.choices :checked')
    return one.variations.find(({ id }) => id === value)
  }
  const show = () => {
    const variation = chosen()
    $('.stage').replaceChildren(picture(one, variation))
    $('.cost').textContent = money(variation.price)
    $('.buy').hidden = variation.soldOut === true
    $('#notify').hidden = !variation.soldOut
    const kept = wishlist.has(one.id, variation.id)
    const heart = $('#wish')
    heart.textContent = kept ? 'Remove from wishlist' : 'Add to wishlist'
    heart.dataset.test = kept ? 'remove-from-wishlist' : 'add-to-wishlist'
  }
  show()
  $('.choices').addEventListener('change', show)
  $('#wish').addEventListener('click', () => {
    toggleWish(one, chosen())
    show()
  })
  $('.buy').addEventListener('submit', (event) => {
    event.preventDefault()
    const quantity = Number($('#quantity').value)
    cart.add(one.id, chosen().id, quantity)
    showCounts()
    toast('In your cart.', { href: 'cart.html', text: 'See cart' })
    track.addToCart(line(one, chosen(), quantity))
  })
  $('#notify').addEventListener('submit', (event) => {
    event.preventDefault()
    const email = $('#notify input').value.trim()
    $('#notify').replaceChildren(`Thank you. We will write to ${email} when it is out of the kiln.`)
    track.sendCustom({ email, event: 'back_in_stock' })
  })
  showShelf(products.filter((other) => other.group === one.group && other !== one).slice(0, 4))
  track.viewProduct({ product_id: one.id })
}

function wishlistPage() {
  const kept = wishlist.lines().flatMap(withProduct)
  $('.lines').hidden = kept.length === 0
  $('.empty').hidden = kept.length > 0
  render(
    $('.lines'),
    kept.map(({ product: one, variation }) => [
      'li',
      { 'data-test': 'wishlist-line', 'data-variation': variation.id },
      thumb(one, variation),
      name(one, variation),
      ['span', { class: 'price sum' }, money(variation.price)],
      [
        'div',
        { class: 'actions' },
        button('Move to cart', 'move-to-cart', variation.soldOut === true, () => {
          wishlist.remove(one.id, variation.id)
          cart.add(one.id, variation.id, 1)
          redraw(wishlistPage)
          track.removeFromWishlist(line(one, variation, 1))
          track.addToCart(line(one, variation, 1))
        }),
        button('Remove', 'remove-from-wishlist', false, () => {
          wishlist.remove(one.id, variation.id)
          redraw(wishlistPage)
          track.removeFromWishlist(line(one, variation, 1))
        }),
      ],
    ]),
  )
}

function cartPage() {
  const lines = cart.lines().flatMap(withProduct)
  $('.split').hidden = lines.length === 0
  $('.empty').hidden = lines.length > 0
  showTotals(lines)
  render(
    $('.lines'),
    lines.map(({ product: one, variation, quantity }) => [
      'li',
      { 'data-test': 'cart-line', 'data-variation': variation.id },
      thumb(one, variation),
      name(one, variation),
      amount(one, variation, quantity),
      ['span', { class: 'price sum' }, money(variation.price * quantity)],
    ]),
  )
}

function amount(/** @type {Product} */ one, /** @type {Variation} */ variation, quantity) {
  const remove = () => {
    cart.set(one.id, variation.id, 0)
    redraw(cartPage)
    track.removeFromCart(line(one, variation, quantity))
  }
  /** A changed quantity is reported as its difference: three from one is two more. */
  const change = (event) => {
    const wanted = Math.trunc(Number(event.target.value))
    if (!(wanted >= 0) || wanted > 99 || event.target.value === '') return redraw(cartPage)
    if (wanted === 0) return remove()
    cart.set(one.id, variation.id, wanted)
    redraw(cartPage)
    if (wanted > quantity) track.addToCart(line(one, variation, wanted - quantity))
    if (wanted < quantity) track.removeFromCart(line(one, variation, quantity - wanted))
  }
  const field = {
    class: 'amount',
    type: 'number',
    min: '0',
    max: '99',
    value: String(quantity),
    'aria-label': `Quantity of ${one.name}, ${variation.name}`,
    'data-test': 'cart-quantity',
    onchange: change,
  }
  return [
    'div',
    { class: 'actions' },
    ['input', field],
    button('Remove', 'remove-from-cart', false, remove),
  ]
}

function checkout() {
  const lines = cart.lines().flatMap(withProduct)
  $('.split').hidden = lines.length === 0
  $('.empty').hidden = lines.length > 0
  showTotals(lines)
  if (lines.length === 0) return
  track.initiateCheckout()
  $('#order').addEventListener('submit', (event) => {
    event.preventDefault()
    const given = Object.fromEntries(new FormData(event.target))
    cart.clear()
    showCounts()
    $('.split').hidden = true
    $('#thanks').hidden = false
    $('#thanks h2').focus()
    track.setEmail({
      email_address: given.email.trim(),
      firstname: given.firstname,
      lastname: given.lastname,
      phone: given.phone,
    })
  })
}

function joinNewsletter(/** @type {SubmitEvent} */ event) {
  event.preventDefault()
  const field = $('#newsletter input')
  const email_address = field.value.trim()
  field.value = ''
  $('#newsletter ~ .told').textContent = 'You are on the list. One letter a firing, no more.'
  track.setEmail({ email_address })
}

/* What the pages share */

function toggleWish(/** @type {Product} */ one, /** @type {Variation} */ variation) {
  const kept = wishlist.has(one.id, variation.id)
  if (kept) wishlist.remove(one.id, variation.id)
  else wishlist.add(one.id, variation.id)
  showCounts()
  if (kept) track.removeFromWishlist(line(one, variation, 1))
  else track.addToWishlist(line(one, variation, 1))
}

function showShelf(/** @type {Product[]} */ shown) {
  render(
    $('.shelf'),
    shown.map((one) => {
      const variation = one.variations[0]
      const href = `product.html?id=${one.id}`
      const prices = one.variations.map(({ price }) => price)
      const least = Math.min(...prices)
      const from = least === Math.max(...prices) ? '' : 'from '
      const heart = {
        class: 'heart',
        type: 'button',
        'aria-label': `${one.name} on the wishlist`,
        'aria-pressed': String(wishlist.has(one.id, variation.id)),
        'data-test': 'toggle-wishlist',
        onclick: (event) => {
          toggleWish(one, variation)
          const pressed = wishlist.has(one.id, variation.id)
          event.currentTarget.setAttribute('aria-pressed', String(pressed))
        },
      }
      return [
        'li',
        { class: 'card', 'data-test': 'product-card', 'data-id': String(one.id) },
        ['div', { class: `tile ${one.tint}` }, picture(one, variation)],
        [
          'div',
          { class: 'label' },
          ['h3', {}, ['a', { href, 'data-test': 'product-link' }, one.name]],
          ['p', {}, one.lead],
          ['span', { class: 'price' }, `${from}${money(least)}`],
        ],
        ['button', heart, picture('heart')],
      ]
    }),
  )
}

function choice(/** @type {Variation} */ variation, /** @type {boolean} */ checked) {
  const [label] = render(document.createDocumentFragment(), [
    [
      'label',
      { class: variation.soldOut ? 'out' : '' },
      [
        'input',
        {
          type: 'radio',
          name: 'variation',
          value: variation.id,
          'data-test': 'variation',
          ...(checked && { checked: '' }),
        },
      ],
      ['i', {}],
      variation.soldOut ? `${variation.name}, sold out` : variation.name,
    ],
  ])
  label.querySelector('i').style.setProperty('--glaze', variation.glaze)
  return label
}

/** A stored line with the product it means; none where the shop no longer has it. */
function withProduct({ product, variation, quantity }) {
  const found = findProduct(product)
  const one = found?.variations.find(({ id }) => id === variation)
  return found && one ? [{ product: found, variation: one, quantity }] : []
}

function thumb(/** @type {Product} */ one, /** @type {Variation} */ variation) {
  return ['span', { class: `thumb ${one.tint}` }, picture(one, variation)]
}

function name(/** @type {Product} */ one, /** @type {Variation} */ variation) {
  const href = `product.html?id=${one.id}&v=${variation.id}`
  return ['div', { class: 'name' }, ['a', { href }, one.name], ['small', {}, variation.name]]
}

function button(text, test, disabled, onclick) {
  const off = disabled && { disabled: '' }
  return ['button', { class: 'link', type: 'button', 'data-test': test, onclick, ...off }, text]
}

function showTotals(lines) {
  const sum = lines.reduce((all, { variation, quantity }) => all + variation.price * quantity, 0)
  $('#sum').textContent = money(sum)
  $('#total').textContent = money(sum + (sum > 0 && sum < 6000 ? 490 : 0))
  $('#post').textContent = sum < 6000 ? money(490) : 'free'
}

function showCounts() {
  for (const [selector, { count }] of [
    ['#cart-count', cart],
    ['#wishlist-count', wishlist],
  ])
    $(selector).textContent = String(count())
}

/** Draws again after a change; the focus stays on the field it was on, where that is still there. */
function redraw(/** @type {() => void} */ page) {
  const { test } = document.activeElement.dataset
  const { variation } = document.activeElement.closest('[data-variation]')?.dataset ?? {}
  showCounts()
  page()
  if (variation) $(`[data-variation="${variation}"] [data-test="${test}"]`)?.focus()
}
