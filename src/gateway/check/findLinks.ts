import type { CheckedPage } from '../../contract/setup.ts'
import type { Page } from './readPage.ts'

type Kind = Exclude<CheckedPage['kind'], 'home' | 'search'>

/** A segment of a path that is one of these words, in the languages of many shops. */
const words = (...list: readonly string[]): RegExp =>
  new RegExp(`(^|/)(${list.join('|')})(\\.\\w+)?(/|$)`, 'i')

/**
 * Paths of each kind of page, the surest first. Shops write them in many ways, so this is a guess, and a kind that is
 * not found is not checked. Products are last, since many of their paths would match others too.
 */
const PATHS: Readonly<Record<Kind, readonly RegExp[]>> = {
  category: [
    words('category', 'categories', 'collections', 'kategorie'),
    /\/(collections?|categor(y|ies|ie|ia)|product-category|kategorien?|c|shop)\/[^/]+/i,
    /\/\d+-[\w-]+\/?$/,
  ],
  cart: [
    words(
      'cart',
      'basket',
      'bag',
      'warenkorb',
      'panier',
      'carrito',
      'carrello',
      'cos',
      'cosul-meu',
      'winkelwagen',
      'koszyk',
      'kosar',
    ),
  ],
  checkout: [
    words(
      'checkout',
      'onepage',
      'kasse',
      'zur-kasse',
      'commande',
      'order',
      'finalizare-comanda',
      'afrekenen',
      'kassa',
      'penztar',
    ),
  ],
  product: [
    /\/(products?|produkte?|produits?|productos?|prodotto|produs|item|dp|p)\/[^/]+/i,
    /\/\d+-[\w-]+\.html$/i,
    /-p-?\d+(\.html)?\/?$/i,
    /\/[\w-]{8,}\.html$/i,
  ],
}

/** Pages of most shops that have a name as long as that of a product. */
const NO_PRODUCT = words(
  'wishlist',
  'merkzettel',
  'favorit\\w*',
  '(my-?)?account',
  'contact(-us)?',
  'about(-us)?',
  '(privacy|terms|shipping|returns?)(-\\w+)*',
  'newsletter',
  'register',
)

/** Addresses that may do something when they are read: they put into a cart, sign out, remove. */
const ACTS =
  /\b(add|remove|delete|logout|log-out|signout|sign-out|unsubscribe|clear|empty|buy|compare)\b|[?&](add|remove)/i

/** A page to fetch. */
export type Target = { readonly kind: CheckedPage['kind']; readonly url: string }

/**
 * Chooses further pages to check: at most one of each kind. Only addresses without a query, since others may put a
 * product into a cart; only of the home page's own host and its subdomains.
 */
export function findLinks(home: Page): readonly Target[] {
  const { hostname, pathname } = new URL(home.url)
  const domain = hostname.replace(/^www\./, '')
  const isOwn = (host: string) =>
    host === hostname || host === domain || host.endsWith(`.${domain}`)
  const links = home.links
    .map((link) => new URL(link))
    .filter(
      (url) =>
        isOwn(url.hostname) && !url.search && url.pathname !== pathname && !ACTS.test(url.pathname),
    )
  const taken = new Set<string>()
  const found = (Object.entries(PATHS) as [Kind, readonly RegExp[]][]).flatMap(
    ([kind, patterns]): Target[] => {
      for (const pattern of patterns) {
        const link = links.find(
          ({ pathname, href }) =>
            pattern.test(pathname) &&
            !taken.has(href) &&
            !(kind === 'product' && NO_PRODUCT.test(pathname)),
        )
        if (!link) continue
        taken.add(link.href)
        return [{ kind, url: link.href }]
      }
      return []
    },
  )
  const [search] = home.searches.filter((address) => isOwn(new URL(address).hostname))
  return search ? [...found, { kind: 'search', url: search }] : found
}
