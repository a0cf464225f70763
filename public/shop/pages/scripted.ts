/** The pages of the shop with a script: shop.tsx fills their main parts. */
import { scriptedPage } from './frame.ts'
import { type Html, html } from './html.ts'
import { campaignLetter, hero } from './parts.ts'

const SHELF = html`<ul class="shelf" data-test="shelf"></ul>`

const totals = (link?: Html): Html => html`
  <aside class="totals" aria-label="Total">
    <div><span>Things</span><span class="price" id="sum"></span></div>
    <div><span>Post</span><span class="price" id="post"></span></div>
    <div class="all"><span>Total</span><span class="price" id="total" data-test="total"></span></div>
    ${link}
  </aside>
`

const index = scriptedPage({
  name: 'home',
  title: 'Saltmarsh · pots and tea',
  description: 'Stoneware for every day and loose tea to put in it.',
  main: html`
    <main id="main">
      ${hero(
        '',
        'Stoneware thrown in small runs and fired with salt wind in the room. Dipped once, left bare at the foot.',
        html`<a class="button" href="category.html?c=ceramics" data-test="hero-link">See the new firing</a>`,
      )}
      ${campaignLetter('')}
      <div class="head">
        <h2>On the shelf</h2>
        <p>From this month’s firing, and the tins next to it</p>
      </div>
      ${SHELF}
      <section class="band" aria-label="How it is made">
        <div>
          <h3>One glaze, one dip</h3>
          <p>Each pot meets one bucket. Where the glaze stops is where the hand was.</p>
        </div>
        <div>
          <h3>Fired on Thursdays</h3>
          <p>What sells out comes back. Ask on its page and we write when it does.</p>
        </div>
        <div>
          <h3>Posted flat or padded</h3>
          <p>€4.90 anywhere, free from €60. Broken on the way is ours to replace.</p>
        </div>
      </section>
    </main>
  `,
})

const category = scriptedPage({
  name: 'category',
  title: 'Saltmarsh · the shelf',
  description: 'All pots and teas of the shop.',
  main: html`
    <main id="main">
      <div class="head">
        <h1>Everything</h1>
        <p id="found" data-test="found"></p>
      </div>
      <h2 class="sr">Products</h2>
      ${SHELF}
    </main>
  `,
})

const search = scriptedPage({
  name: 'search',
  title: 'Search · Saltmarsh',
  description: 'Search the shop.',
  main: html`
    <main id="main">
      <div class="head">
        <h1>Search</h1>
        <p id="found" role="status" data-test="found"></p>
      </div>
      <div class="empty" id="nothing" hidden data-test="nothing-found">
        <p class="lead">Nothing on the shelf by that name. Try “mug”, “celadon” or “tea”.</p>
        <a class="button quiet" href="category.html">See everything</a>
      </div>
      <h2 class="sr">Products</h2>
      ${SHELF}
    </main>
  `,
})

const product = scriptedPage({
  name: 'product',
  title: 'Saltmarsh',
  description: 'One thing on the shelf.',
  main: html`
    <main id="main">
      <div class="empty" id="unknown" hidden data-test="unknown-product">
        <h2>We do not make that</h2>
        <a class="button" href="category.html">See what we make</a>
      </div>
      <div class="product">
        <div class="stage" data-test="picture"></div>
        <div class="info">
          <p class="crumbs"><a href="category.html">Everything</a></p>
          <h1 data-test="product-name">One moment</h1>
          <p class="lead"></p>
          <p class="cost" data-test="price"></p>
          <fieldset class="choices">
            <legend>Choose</legend>
          </fieldset>
          <form class="buy">
            <label class="field">
              <span>Quantity</span>
              <input class="amount" id="quantity" type="number" min="1" max="99" value="1" required data-test="quantity">
            </label>
            <button type="submit" class="button" data-test="add-to-cart">Add to cart</button>
          </form>
          <form class="panel" id="notify" hidden data-test="notify">
            <strong>Sold out until the next firing</strong>
            <label class="field">
              <span>Your e-mail</span>
              <input type="email" name="email" autocomplete="email" placeholder="you@example.com" required data-test="notify-email">
            </label>
            <button type="submit" class="button" data-test="notify-submit">Tell me when it is back</button>
          </form>
          <div><button class="link" type="button" id="wish" data-test="add-to-wishlist">Add to wishlist</button></div>
          <p id="text"></p>
          <ul class="facts"></ul>
        </div>
      </div>
      <section id="more" aria-label="More of its kind">
        <div class="head"><h2>From the same shelf</h2></div>
        ${SHELF}
      </section>
    </main>
  `,
})

const wishlist = scriptedPage({
  name: 'wishlist',
  title: 'Wishlist · Saltmarsh',
  description: 'What you kept for later.',
  current: 'wishlist',
  main: html`
    <main id="main">
      <div class="head"><h1>Wishlist</h1></div>
      <div class="empty" hidden data-test="wishlist-empty">
        <p class="lead">Nothing kept yet. The heart on a tile keeps it here.</p>
        <a class="button" href="category.html">To the shelf</a>
      </div>
      <ul class="lines" hidden data-test="wishlist-lines"></ul>
    </main>
  `,
})

const cart = scriptedPage({
  name: 'cart',
  title: 'Cart · Saltmarsh',
  description: 'Your cart.',
  current: 'cart',
  main: html`
    <main id="main">
      <div class="head"><h1>Cart</h1></div>
      <div class="empty" hidden data-test="cart-empty">
        <p class="lead">An empty cart. Most people begin with a mug.</p>
        <a class="button" href="product.html?id=12">The morning mug</a>
      </div>
      <div class="split" hidden>
        <ul class="lines" data-test="cart-lines"></ul>
        ${totals(html`<a class="button" href="checkout.html" data-test="go-to-checkout">Check out</a>`)}
      </div>
    </main>
  `,
})

const checkout = scriptedPage({
  name: 'checkout',
  title: 'Checkout · Saltmarsh',
  description: 'Where should it go?',
  main: html`
    <main id="main">
      <div class="head"><h1>Checkout</h1></div>
      <div class="empty" hidden data-test="checkout-empty">
        <p class="lead">There is nothing to check out yet.</p>
        <a class="button" href="category.html">To the shelf</a>
      </div>
      <div class="empty" id="thanks" hidden data-test="thanks">
        <h2 tabindex="-1">Thank you. It would be on its way.</h2>
        <p class="lead">This is a demo shop: nothing was bought, nothing is charged.</p>
        <p id="placed" hidden data-test="placed">
          The shop’s server has reported order <b id="order-number" data-test="order-number"></b>.
          <button type="button" class="link" id="cancel" data-test="cancel-order">Cancel it</button>
          <span id="cancelled" role="status" data-test="cancelled"></span>
        </p>
        <a class="button" href="index.html">Back to the shop</a>
      </div>
      <div class="split" hidden>
        <form class="form" id="order">
          <label class="field wide">
            <span>E-mail</span>
            <input type="email" name="email" autocomplete="email" required data-test="checkout-email">
          </label>
          <label class="field">
            <span>First name</span>
            <input type="text" name="firstname" autocomplete="given-name" required data-test="checkout-firstname">
          </label>
          <label class="field">
            <span>Last name</span>
            <input type="text" name="lastname" autocomplete="family-name" required data-test="checkout-lastname">
          </label>
          <label class="field">
            <span>Phone, for the courier</span>
            <input type="tel" name="phone" autocomplete="tel" data-test="checkout-phone">
          </label>
          <label class="field">
            <span>Town</span>
            <input type="text" name="town" autocomplete="address-level2" data-test="checkout-town">
          </label>
          <label class="field wide">
            <span>Street and number</span>
            <input type="text" name="street" autocomplete="street-address" data-test="checkout-street">
          </label>
          <button type="submit" class="button wide" data-test="place-order">Place order</button>
        </form>
        ${totals()}
      </div>
    </main>
  `,
})

const unsubscribe = scriptedPage({
  name: 'unsubscribe',
  title: 'No more letters · Saltmarsh',
  description: 'Leave the list of the newsletter.',
  main: html`
    <main id="main">
      <div class="head"><h1>No more letters</h1></div>
      <div class="text">
        <p class="lead" id="unsubscribed" role="status" data-test="unsubscribed">Which address shall we take off the list?</p>
        <form class="form" id="unsubscribe">
          <label class="field wide">
            <span>E-mail</span>
            <input type="email" name="email" autocomplete="email" required data-test="unsubscribe-email">
          </label>
          <button type="submit" class="button wide" data-test="unsubscribe-submit">Take it off</button>
        </form>
      </div>
    </main>
  `,
})

const privacy = scriptedPage({
  name: 'privacy',
  title: 'What this shop records · Saltmarsh',
  description:
    'What the demo shop records of its visitors, and how to try its question for consent.',
  main: html`
    <main id="main">
      <div class="head"><h1>What this shop records</h1></div>
      <div class="text">
        <p class="lead" id="consent-state" role="status" data-test="consent-state"></p>
        <p>
          This demo shop reports to the gateway that serves it, and to nobody else: the pages and products you look at, your searches, what you put into the cart and on the wishlist, and the names and addresses you enter in its forms.
          Each record has the time, the address of the page, the name of your browser, your IP address, and a random number that your browser keeps for this shop.
        </p>
        <p>
          An order, and your place on the list of the letter, are reported by the shop’s server and not by the page: with what you entered, and without that number.
        </p>
        <h2>Before you answer</h2>
        <p>
          That depends on the setting <code>consent</code> of the shop’s key. With <code>granted</code>, the default, the shop does not ask, and records from the first page on.
          With <code>required</code> nothing is sent before you agree, and the number does not exist; what you did on a page is sent if you agree on that page.
          With <code>cookieless</code> records are sent without the number, and with a shortened IP address.
          If you refuse, nothing is recorded in any case.
        </p>
        <h2>Try it</h2>
        <p>Give the demo’s key the setting, and load this page again without the browser’s cache (Shift and Reload): it keeps the script for five minutes.</p>
        <pre><code>npx shoptrail customer set demo <span>--config</span> '{"consent":"required"}'</code></pre>
        <p>Then the shop asks at the bottom of its pages, and the live view stays empty until you agree. To go back:</p>
        <pre><code>npx shoptrail customer set demo <span>--config</span> '{"consent":null}'</code></pre>
      </div>
    </main>
  `,
})

/** The pages by file name. */
export const SCRIPTED_PAGES = {
  index,
  category,
  search,
  product,
  wishlist,
  cart,
  checkout,
  unsubscribe,
  privacy,
}
