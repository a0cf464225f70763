/*
 * What helps to put a tracking key into the pages of a shop: the lines to paste, and the result of a check of the shop.
 */

/** How serious a finding is. Only an `error` keeps events from arriving. */
export const LEVELS = ['ok', 'note', 'warning', 'error'] as const
export type Level = (typeof LEVELS)[number]

/** One thing that a check has found. */
export type Finding = {
  readonly level: Level
  /** Stable name of the kind of finding, such as `tag-missing`. */
  readonly code: string
  /** What was found, one sentence or two. */
  readonly message: string
  /** What to do, as lines to paste or to follow. Empty if there is nothing to do. */
  readonly fix: readonly string[]
  /** Addresses of the pages that it is about. Empty if it is about no page. */
  readonly pages: readonly string[]
}

/** A page that a check has read, or tried to read. */
export type CheckedPage = {
  readonly kind: 'home' | 'product' | 'category' | 'search' | 'cart' | 'checkout'
  /** Its address, after redirects. */
  readonly url: string
  /** Status of the answer. 0 if there was none. */
  readonly status: number
}

/** A tool that asks visitors for their consent, found on a page. */
export type FoundConsent = {
  /** Value for the setting `consentSources`. */
  readonly source: string
  /** Its name as its vendor writes it. */
  readonly title: string
}

/** The result of a check of a shop. */
export type CheckReport = {
  /** The address that was checked. */
  readonly shop: string
  /** The tracking key and the gateway that it was checked for. Null if neither was given and no tag was found. */
  readonly key: string | null
  readonly gateway: string | null
  readonly pages: readonly CheckedPage[]
  /** The most serious first. */
  readonly findings: readonly Finding[]
  /** The consent tools on the pages, the most specific first. */
  readonly consent: readonly FoundConsent[]
}

/** A directive of a Content-Security-Policy, and what it must contain. */
export type CspLine = {
  /** Such as `script-src`. */
  readonly directive: string
  /** The sources to add to it. */
  readonly sources: string
  /** What needs them, one sentence. */
  readonly why: string
}

/** The lines to paste for a key. */
export type SetupTexts = {
  /** The script's tag. */
  readonly tag: string
  /** The stub, to put before the tag if pages call helpers before the script has loaded. */
  readonly stub: string
  /** The stub that also keeps its calls if the visitor leaves before that. */
  readonly keepingStub: string
  /** The global name of the helpers, `track` unless the key has another. */
  readonly global: string
  /** What a Content-Security-Policy has to allow. */
  readonly csp: readonly CspLine[]
  readonly consent: {
    /** What happens before the visitor has answered, by the settings of the key. */
    readonly rule: 'granted' | 'required' | 'cookieless'
    /** The sources that the settings of the key name. */
    readonly sources: readonly string[]
    /** Value of `consentSources` that fits the shop. `auto` as long as no tool was found. */
    readonly suggested: string
    /** Name of the tool that was found. Null if none was. */
    readonly title: string | null
    /** The command that sets it. Null if the key has it already. */
    readonly command: string | null
  }
  readonly origin: {
    /** The origin of the shop's address. */
    readonly origin: string
    /** Whether its pages may send events with the key. */
    readonly isAllowed: boolean
    /** The command that allows it. Null if it is allowed. */
    readonly command: string | null
  }
}

/** A shop on this machine, which seldom has https. */
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])(:|\/|$)/i

/** The scheme of a shop's address that was written without one. */
export const schemeOf = (address: string): 'http' | 'https' =>
  LOOPBACK.test(address) ? 'http' : 'https'
