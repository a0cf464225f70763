/** The products of the demo shop. */

/** `id` and `sku` are text, as the contract requires. */
export type Variation = {
  readonly id: string
  readonly sku: string
  readonly name: string
  /** Euro cents. */
  readonly price: number
  /** A CSS colour. */
  readonly glaze: string
  readonly soldOut?: boolean
}

export type Product = {
  /** A whole number, as the contract requires. */
  readonly id: number
  readonly name: string
  readonly group: 'ceramics' | 'tea'
  /** Name of its drawing in `img`. */
  readonly art: string
  /** Class of its background. */
  readonly tint: string
  readonly lead: string
  readonly text: string
  readonly facts: readonly string[]
  /** The name of the choice between its variations, such as `Glaze`. */
  readonly choice: string
  /** At least one. */
  readonly variations: readonly Variation[]
}

const COBALT = '#2f4b9b'
const CELADON = '#8fb5a0'
const OAT = '#e7dcc2'
const IRON = '#5b3b31'
const CORAL = '#d9694f'
const NIGHT = '#24343e'

export const products: readonly Product[] = [
  {
    id: 12,
    name: 'Morning mug',
    group: 'ceramics',
    art: 'mug',
    tint: 'mist',
    lead: 'The one you reach for first.',
    text: 'Thrown on a slow wheel, dipped once and left with a bare foot, so that it stays put on a wet table. Holds 350 ml, which is a mug of tea and the second half you did not mean to drink.',
    facts: ['350 ml', 'Stoneware, fired at 1,240 °C', 'Dishwasher safe'],
    choice: 'Glaze',
    variations: [
      { id: '12-1', sku: 'MUG-COBALT', name: 'Cobalt', price: 2400, glaze: COBALT },
      { id: '12-2', sku: 'MUG-CELADON', name: 'Celadon', price: 2400, glaze: CELADON },
      { id: '12-3', sku: 'MUG-OAT', name: 'Oat', price: 2200, glaze: OAT, soldOut: true },
    ],
  },
  {
    id: 15,
    name: 'Bow-handle teapot',
    group: 'ceramics',
    art: 'teapot',
    tint: 'sand',
    lead: 'Pours without a drip. We checked, for years.',
    text: 'The spout is cut by hand and tested with water before the pot may be glazed. A strainer of forty-one holes sits behind it; the handle stays cool.',
    facts: ['0.6 or 1.1 litres', 'Built-in strainer', 'Hand wash'],
    choice: 'Size and glaze',
    variations: [
      { id: '15-1', sku: 'POT-CEL-S', name: 'Celadon, 0.6 l', price: 6800, glaze: CELADON },
      { id: '15-2', sku: 'POT-CEL-L', name: 'Celadon, 1.1 l', price: 8600, glaze: CELADON },
      { id: '15-3', sku: 'POT-NIGHT-S', name: 'Night, 0.6 l', price: 6800, glaze: NIGHT },
      { id: '15-4', sku: 'POT-NIGHT-L', name: 'Night, 1.1 l', price: 8600, glaze: NIGHT },
    ],
  },
  {
    id: 21,
    name: 'Wide bowl',
    group: 'ceramics',
    art: 'bowl',
    tint: 'sky',
    lead: 'Soup, noodles, lemons.',
    text: 'A generous bowl on a narrow foot. The glaze breaks lighter over the rim, so no two look quite alike on a table.',
    facts: ['16 or 22 cm across', 'Stacks', 'Dishwasher safe'],
    choice: 'Size and glaze',
    variations: [
      { id: '21-1', sku: 'BOWL-CORAL-16', name: 'Coral, 16 cm', price: 2600, glaze: CORAL },
      { id: '21-2', sku: 'BOWL-CORAL-22', name: 'Coral, 22 cm', price: 3800, glaze: CORAL },
      { id: '21-3', sku: 'BOWL-COB-16', name: 'Cobalt, 16 cm', price: 2600, glaze: COBALT },
      { id: '21-4', sku: 'BOWL-COB-22', name: 'Cobalt, 22 cm', price: 3800, glaze: COBALT },
    ],
  },
  {
    id: 41,
    name: 'Smoked pine',
    group: 'tea',
    art: 'tin',
    tint: 'moss',
    lead: 'Black tea, dried over pine embers.',
    text: 'Campfire in the nose, malt on the tongue. Three minutes, water just off the boil, and a biscuit that can stand up to it.',
    facts: ['Black tea', '95 °C, 3 minutes', 'Loose leaf in a tin'],
    choice: 'Weight',
    variations: [
      { id: '41-50', sku: 'TEA-PINE-50', name: '50 g', price: 950, glaze: '#b4552f' },
      { id: '41-250', sku: 'TEA-PINE-250', name: '250 g', price: 3600, glaze: '#b4552f' },
    ],
  },
  {
    id: 18,
    name: 'Milk jug',
    group: 'ceramics',
    art: 'jug',
    tint: 'blush',
    lead: 'Small, upright, good at parties.',
    text: 'A lip that lets go cleanly and a handle for two fingers. Also seen holding spoons, sweet peas and once a receipt.',
    facts: ['250 ml', 'Stoneware', 'Dishwasher safe'],
    choice: 'Glaze',
    variations: [
      { id: '18-1', sku: 'JUG-OAT', name: 'Oat', price: 2800, glaze: OAT },
      { id: '18-2', sku: 'JUG-COBALT', name: 'Cobalt', price: 2800, glaze: COBALT },
    ],
  },
  {
    id: 24,
    name: 'Tide plate',
    group: 'ceramics',
    art: 'plate',
    tint: 'mist',
    lead: 'Half dipped, like a beach.',
    text: 'A flat dinner plate, dipped at an angle and never twice at the same one. The bare half is sealed and wipes clean.',
    facts: ['27 cm across', 'Stoneware', 'Dishwasher safe'],
    choice: 'Glaze',
    variations: [
      { id: '24-1', sku: 'PLATE-CELADON', name: 'Celadon', price: 3200, glaze: CELADON },
      { id: '24-2', sku: 'PLATE-NIGHT', name: 'Night', price: 3200, glaze: NIGHT },
    ],
  },
  {
    id: 42,
    name: 'First rain',
    group: 'tea',
    art: 'tin',
    tint: 'sky',
    lead: 'Green tea, picked before the wet weeks.',
    text: 'Grassy and sweet, with a little of the pavement after a shower. Good twice, better the second time.',
    facts: ['Green tea', '75 °C, 2 minutes', 'Loose leaf in a tin'],
    choice: 'Weight',
    variations: [
      { id: '42-50', sku: 'TEA-RAIN-50', name: '50 g', price: 1100, glaze: '#5f8a6a' },
      { id: '42-250', sku: 'TEA-RAIN-250', name: '250 g', price: 4200, glaze: '#5f8a6a' },
    ],
  },
  {
    id: 27,
    name: 'Bud vase',
    group: 'ceramics',
    art: 'vase',
    tint: 'sand',
    lead: 'For two stems and no more.',
    text: 'The neck is narrow enough that whatever you picked on the way home stands up in it by itself.',
    facts: ['14 cm tall', 'Watertight', 'Stems not included'],
    choice: 'Glaze',
    variations: [
      { id: '27-1', sku: 'VASE-CORAL', name: 'Coral', price: 3400, glaze: CORAL },
      { id: '27-2', sku: 'VASE-IRON', name: 'Iron', price: 3400, glaze: IRON },
    ],
  },
  {
    id: 13,
    name: 'Espresso pair',
    group: 'ceramics',
    art: 'espresso',
    tint: 'blush',
    lead: 'Two cups that stack.',
    text: 'One dipped from above, the other from below, so you always know whose is whose. Thick walls keep a short coffee warm.',
    facts: ['2 × 80 ml', 'Stoneware', 'Dishwasher safe'],
    choice: 'Glaze',
    variations: [
      { id: '13-1', sku: 'ESP-IRON', name: 'Iron', price: 3000, glaze: IRON },
      { id: '13-2', sku: 'ESP-CELADON', name: 'Celadon', price: 3000, glaze: CELADON },
    ],
  },
  {
    id: 31,
    name: 'Pantry jar',
    group: 'ceramics',
    art: 'jar',
    tint: 'moss',
    lead: 'Tea, sugar, spare keys.',
    text: 'A lidded jar with a turned oak lid. The seal is only the weight of the wood, and that has been enough so far.',
    facts: ['900 ml', 'Stoneware and oak', 'Wipe the lid, wash the jar'],
    choice: 'Glaze',
    variations: [
      { id: '31-1', sku: 'JAR-NIGHT', name: 'Night', price: 4400, glaze: NIGHT },
      { id: '31-2', sku: 'JAR-OAT', name: 'Oat', price: 4400, glaze: OAT },
    ],
  },
  {
    id: 43,
    name: 'Fennel & camomile',
    group: 'tea',
    art: 'tin',
    tint: 'sand',
    lead: 'No caffeine, no hurry.',
    text: 'Whole camomile heads with fennel seed. Leave it in the pot, it does not turn bitter. Nor do you.',
    facts: ['Herbal', '100 °C, 6 minutes', 'Loose leaf in a tin'],
    choice: 'Weight',
    variations: [
      { id: '43-50', sku: 'TEA-FENNEL-50', name: '50 g', price: 850, glaze: '#d9a13a' },
      { id: '43-250', sku: 'TEA-FENNEL-250', name: '250 g', price: 3200, glaze: '#d9a13a' },
    ],
  },
  {
    id: 45,
    name: 'Tasting box',
    group: 'tea',
    art: 'box',
    tint: 'mist',
    lead: 'Six teas, twelve grams each.',
    text: 'One of everything, with a card that says how long. The usual way in, and a present that has never come back.',
    facts: ['6 × 12 g', 'Green, black and herbal', 'Fits a letter box'],
    choice: 'One size',
    variations: [{ id: '45', sku: 'TEA-BOX', name: 'Six teas', price: 1900, glaze: NIGHT }],
  },
]

export const findProduct = (id: number): Product | undefined =>
  products.find((product) => product.id === id)

/** The products whose name or description contains every word of `term`; none for a blank term. */
export function findProducts(term: string): readonly Product[] {
  const words = term.toLowerCase().split(/\s+/).filter(Boolean)
  return words.length === 0
    ? []
    : products.filter(({ name, group, lead, text, variations }) => {
        const all = [name, group, lead, text, ...variations.map((one) => one.name)]
        const haystack = all.join(' ').toLowerCase()
        return words.every((word) => haystack.includes(word))
      })
}

/** `2400` is `€24.00`. */
export const money = (cents: number): string => `€${(cents / 100).toFixed(2)}`

/** The postage of an order of `sum`; both in euro cents. */
export const postageOf = (sum: number): number => (sum > 0 && sum < 6000 ? 490 : 0)
