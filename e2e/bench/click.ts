// The cost of a click on the main thread, from dispatch to the last listener, on a page of 5,000 elements at 4x CPU
// throttle: without the script, on an element without attributes, and on one with attributes (from attribute to
// outbox). Microseconds per click; the ways alternate, and the median of the rounds counts. The target is twenty levels
// deep, as in shops. Only a few tracked clicks in a row, since a real visitor's outbox does not contain hundreds of
// events.
import { line, median, startBenchPages } from '../benchPages.ts'

const ROUNDS = 9
const CLICKS = 200
const TRACKED_CLICKS = 5
const ELEMENTS = 5000
const DEPTH = 20

const { shop, fresh, end } = await startBenchPages()

const mark = (id: number) =>
  `data-track="addToCart" data-track-product-id="${id}" data-track-variation-id="v" data-track-variation-sku="s"`
const card = (id: number) =>
  `<article><h3>Product ${id}</h3><p>Text</p><a href="#p${id}">More</a><button ${mark(id)}>Add</button></article>`
const nested = (inner: string) => '<div>'.repeat(DEPTH) + inner + '</div>'.repeat(DEPTH)
const cards = Array.from({ length: ELEMENTS / 5 }, (_, index) => card(index + 1)).join('')
const body = `${nested(`<b id="plain">x</b><button id="tracked" ${mark(7)}><i>Add</i></button>`)}${cards}`

const without = shop.page('/without', { head: '', body })
const withScript = shop.page('/with', { body })
const ways = {
  'without the script': [without, '#plain'],
  'with it, an untracked click': [withScript, '#plain'],
  'without it, on a tracked button': [without, '#tracked i'],
  'with it, a tracked click': [withScript, '#tracked i'],
  'with it, the same by a call': [withScript, ''],
} as const
const CALL = "track.addToCart({ product_id: 7, quantity: 1, variation: { id: 'v', sku: 's' } })"

const times: Record<string, number[]> = {}
for (let round = 0; round < ROUNDS; round++)
  for (const [name, [address, selector]] of Object.entries(ways)) {
    const clicks = /a tracked click$|by a call$/.test(name) ? TRACKED_CLICKS : CLICKS
    const { page, close } = await fresh()
    await page.goto(address)
    const ms = await page.evaluate<number>(
      `(() => {
        const target = document.querySelector('${selector || 'body'}')
        // The page's own listener: every shop has one.
        let heard = 0
        document.addEventListener('click', () => heard++)
        const start = performance.now()
        for (let n = 0; n < ${clicks}; n++) ${selector ? 'target.click()' : CALL}
        return performance.now() - start
      })()`,
    )
    times[name] = [...(times[name] ?? []), (1000 * ms) / clicks]
    await close()
  }

console.log(line(`4x throttle, ${ELEMENTS} elements`, 'µs a click', 'above without'))
const of = (name: keyof typeof ways) => median(times[name] ?? [])
const row = (name: keyof typeof ways, reference: keyof typeof ways) =>
  console.log(line(name, of(name).toFixed(1), (of(name) - of(reference)).toFixed(1)))
row('without the script', 'without the script')
row('with it, an untracked click', 'without the script')
row('without it, on a tracked button', 'without it, on a tracked button')
row('with it, a tracked click', 'without it, on a tracked button')
row('with it, the same by a call', 'without it, on a tracked button')
await end()
