// The cost of the worst forms that anyone may send to /api/v1, with or without keys, CPU time in ms: reading the largest
// body, and checking and storing the largest order. The best of several runs counts, so that a busy machine changes
// little. Exits with 1 if one costs more than 20 ms.
import { MAX_EVENT_BYTES, toStoredOrder, validate } from '../../src/contract/index.ts'
import { readJson } from '../../src/gateway/http/body.ts'
import { MAX_ORDER_BYTES, MAX_ORDER_VALUES } from '../../src/gateway/orders/orderRoutes.ts'
import { digestOf } from '../../src/gateway/orders/orders.ts'
import { line } from '../benchPages.ts'

const MAX_MS = 20
const RUNS = 9

const fill = (piece: string) => piece.repeat(Math.floor(MAX_ORDER_BYTES / piece.length))
/** As many pairs as are read. */
const pairs = (make: (index: number) => string) =>
  Array.from({ length: MAX_ORDER_VALUES - 2 }, (_, index) => make(index)).join('&')
const product = (index: number) =>
  Object.entries({
    product_id: 100_000 + index,
    price: '1,234.50',
    quantity: 1,
    variation_sku: `S-${index}`,
  })
    .map(([name, value]) => `products%5B${index}%5D%5B${name}%5D=${encodeURIComponent(value)}`)
    .join('&')
const order = (index: (line: number) => number = (line) => line) =>
  `number=1&total_value=617%2C250.00&${Array.from({ length: 500 }, (_, at) => product(index(at))).join('&')}`

const bodies: Readonly<Record<string, string | Buffer>> = {
  'an order of 500 products': order(),
  'an order with gaps': order((line) => line * 7_919),
  'a long text': `number=${fill('x')}`,
  'a percent-encoded text': `number=${fill('%C4%83')}`,
  'percent signs': `number=${fill('%')}`,
  'invalid UTF-8': Buffer.concat([
    Buffer.from('number='),
    Buffer.alloc(MAX_ORDER_BYTES - 10, 0xff),
  ]),
  'null characters': Buffer.alloc(MAX_ORDER_BYTES),
  separators: fill('&'),
  'pairs without names': fill('=&'),
  'one name': pairs(() => 'a=1'),
  'different names': pairs((index) => `n${index}=1`),
  'objects in objects': pairs((index) => `a[${index}][b][c][d][e][f][g]=1`),
  'lists in lists': pairs(() => 'a[][][][][][][]=1'),
  'a text and an object in turns': pairs((index) => (index % 2 ? 'a=1' : 'a[b]=1')),
  'long names': Array.from({ length: 120 }, (_, index) => `${index}${'a'.repeat(2_000)}=1`).join(
    '&',
  ),
  'points in names': Array.from({ length: 120 }, () => `${' .'.repeat(1_000)}=1`).join('&'),
  'brackets in names': Array.from({ length: 120 }, () => `a${'['.repeat(2_000)}=1`).join('&'),
  'spaces in names': Array.from({ length: 120 }, () => `${'+'.repeat(2_000)}=1`).join('&'),
}

/** CPU time of one run, ms: the best of several. */
async function costOf(run: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < RUNS; i++) {
    const start = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(start)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

const read = (body: string | Buffer) => {
  const bytes = Buffer.from(body as string).subarray(0, MAX_ORDER_BYTES)
  const request = new Request('http://gateway.example', {
    method: 'POST',
    headers: {
      'content-length': `${bytes.length}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  const options = { form: true, maxValues: MAX_ORDER_VALUES }
  return readJson(request, async () => bytes, MAX_ORDER_BYTES, options)
}

console.log(line('a form', 'CPU ms', 'at most'))
for (const [what, body] of Object.entries(bodies)) {
  const reading = await costOf(() => read(body))
  const all = await costOf(async () => {
    const form = await read(body)
    if (!form.ok) return
    const checked = validate('saveOrder', form.json)
    const stored = checked.ok ? toStoredOrder(checked.payload, 'EUR') : checked
    if (!stored.ok) return
    const payload = JSON.stringify(stored.payload)
    if (payload.length > MAX_EVENT_BYTES) throw new Error('The order is too large')
    digestOf(payload)
  })
  const isAbove = Math.max(reading, all) > MAX_MS
  if (isAbove) process.exitCode = 1
  console.log(line(`${what}, read`, reading.toFixed(3), MAX_MS))
  console.log(line(`${what}, stored`, all.toFixed(3), MAX_MS) + (isAbove ? '  ABOVE' : ''))
}
