/**
 * The demo shop's script. It calls `track` as the code of a real shop would: it does the shop's own work first, then
 * reports, and does not wait for an answer.
 */
import type {} from '../../src/tracker/global.d.ts'
import { startConsent } from './consent.ts'
import { type Line, LinePrice, LineRow, LinkButton, linesOf } from './lines.tsx'
import { $, fill } from './page.ts'
import { Picture } from './picture.tsx'
import {
  findProduct,
  findProducts,
  money,
  type Product,
  postageOf,
  products,
  type Variation,
} from './products.ts'
import { cancelOrder, placeOrder, subscribe, unsubscribe } from './server.ts'
import { Shelf } from './shelf.tsx'
import { cart, wishlist } from './stores.ts'
import { toast } from './toast.tsx'

const query = new URLSearchParams(location.search)

/** The fields of a line for the helpers. */
const tracked = (product: Product, { id, sku }: Variation, quantity: number) => ({
  product_id: product.id,
  quantity,
  variation: { id, sku },
})

/** The function of each page, by `data-page` of the body. */
const pages: Readonly<Record<string, () => void>> = {
  home,
  category,
  product: productPage,
  search,
  wishlist: wishlistPage,
  cart: cartPage,
  checkout,
  unsubscribe: unsubscribePage,
}

startConsent()
showCounts()
addEventListener('storage', showCounts)
$('#newsletter').addEventListener('submit', joinNewsletter)
pages[document.body.dataset.page ?? '']?.()

function home() {
  showShelf(products.slice(0, 8))
  track.viewHomepage()
}

function category() {
  const group = query.get('c')
  const shown = products.filter((one) => group === null || one.group === group)
  const title = { ceramics: 'Ceramics', tea: 'Tea' }[group ?? ''] ?? 'Everything'
  document.title = `${title} · Saltmarsh`
  $('h1').textContent = title
  $('#found').textContent = `${shown.length} things on the shelf`
  for (const link of document.querySelectorAll<HTMLAnchorElement>('nav.main a'))
    if (new URL(link.href).searchParams.get('c') === group) link.ariaCurrent = 'page'
  showShelf(shown)
}

function search() {
  const term = (query.get('q') ?? '').trim()
  const found = findProducts(term)
  $<HTMLInputElement>('.find input').value = term
  $('h1').textContent = term ? `“${term}”` : 'What are you looking for?'
  $('#found').textContent = term ? `${found.length} found` : ''
  $('#nothing').hidden = !term || found.length > 0
  showShelf(found)
  if (term) track.search({ search_term: term })
}

function productPage() {
  const product = findProduct(Number(query.get('id')))
  $('#unknown').hidden = product !== undefined
  $('.product').hidden = product === undefined
  $('#more').hidden = product === undefined
  if (product) showProduct(product)
}

function showProduct(product: Product) {
  const { id, name, lead, text, group, tint, facts, choice, variations } = product
  document.title = `${name} · Saltmarsh`
  $('h1').textContent = name
  $('.lead').textContent = lead
  $('#text').textContent = text
  $<HTMLAnchorElement>('.crumbs a').href = `category.html?c=${group}`
  $('.crumbs a').textContent = group === 'tea' ? 'Tea' : 'Ceramics'
  $('.stage').classList.add(tint)
  fill(
    '.facts',
    facts.map((fact) => <li key={fact}>{fact}</li>),
  )
  const wanted = query.get('v')
  let chosen = variations.find((variation) => variation.id === wanted) ?? variations[0]
  draw()
  $('#wish').addEventListener('click', () => {
    if (chosen) toggleWish(product, chosen)
    draw()
  })
  $('.buy').addEventListener('submit', (event) => {
    event.preventDefault()
    if (!chosen) return
    const quantity = Number($<HTMLInputElement>('#quantity').value)
    cart.add(id, chosen.id, quantity)
    showCounts()
    toast('In your cart.', { href: 'cart.html', text: 'See cart' })
    track.addToCart(tracked(product, chosen, quantity))
  })
  $('#notify').addEventListener('submit', (event) => {
    event.preventDefault()
    const email = $<HTMLInputElement>('#notify input').value.trim()
    $('#notify').textContent = `Thank you. We will write to ${email} when it is out of the kiln.`
    track.sendCustom({ email, event: 'back_in_stock' })
  })
  showShelf(products.filter((other) => other.group === group && other !== product).slice(0, 4))
  track.viewProduct({ product_id: id })

  /** Draws the parts that depend on the variation. */
  function draw() {
    if (!chosen) return
    fill('.stage', <Picture product={product} variation={chosen} />)
    fill(
      '.choices',
      <>
        <legend>{choice}</legend>
        {variations.map((variation) => (
          <Choice
            key={variation.id}
            variation={variation}
            isChosen={variation === chosen}
            onChoose={() => {
              chosen = variation
              draw()
            }}
          />
        ))}
      </>,
    )
    $('.cost').textContent = money(chosen.price)
    $('.buy').hidden = chosen.soldOut === true
    $('#notify').hidden = !chosen.soldOut
    const isKept = wishlist.has(id, chosen.id)
    $('#wish').textContent = isKept ? 'Remove from wishlist' : 'Add to wishlist'
    $('#wish').dataset.test = isKept ? 'remove-from-wishlist' : 'add-to-wishlist'
  }
}

function Choice({
  variation: { id, name, soldOut, glaze },
  isChosen,
  onChoose,
}: {
  readonly variation: Variation
  readonly isChosen: boolean
  readonly onChoose: () => void
}) {
  return (
    <label class={soldOut ? 'out' : ''}>
      <input
        type="radio"
        name="variation"
        value={id}
        checked={isChosen}
        onChange={onChoose}
        data-test="variation"
      />
      <i style={{ '--glaze': glaze }} />
      {soldOut ? `${name}, sold out` : name}
    </label>
  )
}

function wishlistPage() {
  const kept = linesOf(wishlist.lines())
  $('.lines').hidden = kept.length === 0
  $('.empty').hidden = kept.length > 0
  showCounts()
  fill(
    '.lines',
    kept.map((line) => {
      const { product, variation } = line
      const moveToCart = () => {
        wishlist.remove(product.id, variation.id)
        cart.add(product.id, variation.id, 1)
        wishlistPage()
        track.removeFromWishlist(tracked(product, variation, 1))
        track.addToCart(tracked(product, variation, 1))
      }
      const remove = () => {
        wishlist.remove(product.id, variation.id)
        wishlistPage()
        track.removeFromWishlist(tracked(product, variation, 1))
      }
      return (
        <LineRow key={variation.id} line={line} test="wishlist-line">
          <LinePrice line={line} />
          <div class="actions">
            <LinkButton
              text="Move to cart"
              test="move-to-cart"
              isOff={variation.soldOut === true}
              onClick={moveToCart}
            />
            <LinkButton text="Remove" test="remove-from-wishlist" onClick={remove} />
          </div>
        </LineRow>
      )
    }),
  )
}

function cartPage() {
  const lines = linesOf(cart.lines())
  $('.split').hidden = lines.length === 0
  $('.empty').hidden = lines.length > 0
  showCounts()
  showTotals(lines)
  fill(
    '.lines',
    lines.map((line) => (
      <LineRow key={line.variation.id} line={line} test="cart-line">
        <Amount {...line} />
        <LinePrice line={line} />
      </LineRow>
    )),
  )
}

function Amount({ product, variation, quantity }: Line) {
  function remove() {
    cart.set(product.id, variation.id, 0)
    cartPage()
    track.removeFromCart(tracked(product, variation, quantity))
  }

  /** A changed quantity is reported as the difference: from one to three is two added. */
  function change(value: string) {
    const wanted = Math.trunc(Number(value))
    if (!(wanted >= 0) || wanted > 99 || value === '') return cartPage()
    if (wanted === 0) return remove()
    cart.set(product.id, variation.id, wanted)
    cartPage()
    if (wanted > quantity) track.addToCart(tracked(product, variation, wanted - quantity))
    if (wanted < quantity) track.removeFromCart(tracked(product, variation, quantity - wanted))
  }

  return (
    <div class="actions">
      <input
        class="amount"
        type="number"
        min="0"
        max="99"
        value={quantity}
        aria-label={`Quantity of ${product.name}, ${variation.name}`}
        onChange={({ currentTarget }) => change(currentTarget.value)}
        data-test="cart-quantity"
      />
      <LinkButton text="Remove" test="remove-from-cart" onClick={remove} />
    </div>
  )
}

function checkout() {
  const lines = linesOf(cart.lines())
  $('.split').hidden = lines.length === 0
  $('.empty').hidden = lines.length > 0
  showTotals(lines)
  if (lines.length === 0) return
  track.initiateCheckout()
  const order = $<HTMLFormElement>('#order')
  order.addEventListener('submit', (event) => {
    event.preventDefault()
    const data = new FormData(order)
    const given = (name: string) => String(data.get(name) ?? '').trim()
    const buyer = {
      email: given('email'),
      firstname: given('firstname'),
      lastname: given('lastname'),
      phone: given('phone'),
      town: given('town'),
      street: given('street'),
    }
    $<HTMLButtonElement>('#order button').disabled = true
    const sum = sumOf(lines)
    placeOrder(buyer, lines, { sum, postage: postageOf(sum) }).then(showThanks)
    const { email, firstname, lastname, phone } = buyer
    track.setEmail({ email_address: email, firstname, lastname, phone })
  })
}

/** @param number Of the order; undefined if the shop's server did not answer. */
function showThanks(number: number | undefined) {
  cart.clear()
  showCounts()
  $('.split').hidden = true
  $('#thanks').hidden = false
  $('#thanks h2').focus()
  $('#placed').hidden = number === undefined
  if (number === undefined) return
  $('#order-number').textContent = String(number)
  const cancel = $<HTMLButtonElement>('#cancel')
  cancel.addEventListener('click', async () => {
    cancel.disabled = true
    const isDone = await cancelOrder(number)
    $('#cancelled').textContent = isDone ? 'It is cancelled.' : 'That did not work. Try again.'
    cancel.disabled = false
    cancel.hidden = isDone
  })
}

function joinNewsletter(event: Event) {
  event.preventDefault()
  const field = $<HTMLInputElement>('#newsletter input')
  const email_address = field.value.trim()
  field.value = ''
  $('#newsletter ~ .confirmation').textContent =
    'You are on the list. One letter a firing, no more.'
  subscribe(email_address)
  track.setEmail({ email_address })
}

/** The letter's link leads here. */
function unsubscribePage() {
  const form = $<HTMLFormElement>('#unsubscribe')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const email = $<HTMLInputElement>('#unsubscribe input').value.trim()
    const isDone = await unsubscribe(email)
    form.hidden = isDone
    $('#unsubscribed').textContent = isDone
      ? `${email} gets no more letters.`
      : 'That did not work. Try again.'
  })
}

/* On every page */

function toggleWish(product: Product, variation: Variation) {
  const isKept = wishlist.has(product.id, variation.id)
  if (isKept) wishlist.remove(product.id, variation.id)
  else wishlist.add(product.id, variation.id)
  showCounts()
  if (isKept) track.removeFromWishlist(tracked(product, variation, 1))
  else track.addToWishlist(tracked(product, variation, 1))
}

function showShelf(shown: readonly Product[]) {
  const draw = () =>
    fill(
      '.shelf',
      <Shelf
        products={shown}
        isKept={(product, { id }) => wishlist.has(product.id, id)}
        onHeart={(product, variation) => {
          toggleWish(product, variation)
          draw()
        }}
      />,
    )
  draw()
}

function sumOf(lines: readonly Line[]): number {
  return lines.reduce((all, { variation, quantity }) => all + variation.price * quantity, 0)
}

function showTotals(lines: readonly Line[]) {
  const sum = sumOf(lines)
  const postage = postageOf(sum)
  $('#sum').textContent = money(sum)
  $('#total').textContent = money(sum + postage)
  $('#post').textContent = postage ? money(postage) : 'free'
}

function showCounts() {
  $('#cart-count').textContent = String(cart.count())
  $('#wishlist-count').textContent = String(wishlist.count())
}
