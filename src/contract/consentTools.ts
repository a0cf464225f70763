/*
 * The consent tools that the script can read, as data: what each tool documents about its events and its state. The
 * gateway serves a key the rows that it needs, and the script has one evaluator for all of them
 * (src/tracker/lib/consentSources.ts).
 */

/**
 * A path through objects. A text is the name of a property; a list is a method with its arguments, which gets a callback
 * as a further argument. The callback takes an object with the state.
 */
export type Path = readonly (string | readonly [method: string, ...args: unknown[]])[]

/** The consent that a source reports, and the paths from its state that must all lead to `true` for that. */
export type Rule = readonly ['granted' | 'denied', ...Path[]]

/** How the script reads a source. */
export type ConsentReader = {
  readonly name: string
  /** The events after which the state may have changed, separated by spaces. They are dispatched in the document. */
  readonly events: string
  /** From window to the object with the state. Without it, only a callback or a push gives the state. */
  readonly state?: Path
  /** From window to a method that is called once, when it exists: it loads the tool's interface or adds a listener. */
  readonly load?: Path
  /** The `event` of the objects that the tool pushes into the dataLayer and that are its state. */
  readonly push?: string
  /** The first rule that applies gives the consent. If none applies, the visitor has not answered. */
  readonly rules: readonly Rule[]
}

/** A row of the table. In its paths `{category}` stands for the category, and `{method}` for the category's method. */
export type ConsentTool = ConsentReader & {
  /** The tool's name as its vendor writes it. */
  readonly title: string
  /** The page of the vendor's documentation. */
  readonly page: string
  /** A regular expression, without regard to case, that finds the addresses of its scripts. */
  readonly scripts: string
  /** The category for statistics. */
  readonly category: string
  /** The tool's further categories. Absent if its customers make categories of their own. */
  readonly categories?: readonly string[]
  /** The method of each category, for `{method}`. */
  readonly methods?: { readonly [category: string]: string }
}

export const CONSENT_TOOLS: readonly ConsentTool[] = [
  {
    name: 'cookiebot',
    title: 'Cookiebot',
    page: 'https://www.cookiebot.com/en/developer/',
    scripts: 'consent\\.cookiebot\\.(com|eu)/|/cookiebot[^/?]*/',
    category: 'statistics',
    categories: ['preferences', 'marketing'],
    events: 'CookiebotOnConsentReady CookiebotOnAccept CookiebotOnDecline CookiebotOnDialogDisplay',
    state: ['Cookiebot'],
    rules: [
      ['granted', ['consent', '{category}']],
      ['denied', ['hasResponse']],
    ],
  },
  {
    name: 'onetrust',
    title: 'OneTrust',
    page: 'https://developer.onetrust.com/onetrust/docs/javascript-events-guide',
    scripts: '/otSDKStub\\.js|\\.cookielaw\\.org/|/otBannerSdk\\.js',
    category: 'C0002',
    events: 'OneTrustGroupsUpdated OTConsentApplied',
    state: [],
    rules: [
      // A text: ",C0001,C0002,".
      ['granted', ['OnetrustActiveGroups', ['includes', ',{category},']]],
      ['denied', ['OneTrust', ['IsAlertBoxClosed']]],
    ],
  },
  {
    name: 'usercentrics',
    title: 'Usercentrics (version 3)',
    page: 'https://usercentrics.com/docs/web/features/api/interfaces/',
    scripts: 'web\\.cmp\\.usercentrics\\.eu/',
    // Its own text for this category is about measuring how the site is used. It has none for statistics.
    category: 'functional',
    events: 'UC_UI_INITIALIZED UC_CONSENT',
    // A promise, which has no property '': only the callback gives the state.
    state: ['__ucCmp', ['getConsentDetails'], ['catch'], ['then'], ''],
    rules: [
      ['granted', ['categories', '{category}', 'state', ['startsWith', 'ALL_ACCEPTED']]],
      ['denied', ['consent', 'type', ['startsWith', 'EXPLICIT']]],
    ],
  },
  {
    name: 'usercentrics2',
    title: 'Usercentrics (version 2)',
    page: 'https://usercentrics.com/docs/web/features/v2/events_v2/events_v2/',
    scripts: '(app|privacy-proxy|config)\\.usercentrics\\.eu/',
    category: 'functional',
    events: '',
    push: 'consent_status',
    rules: [
      ['granted', ['ucCategory', '{category}']],
      ['denied', ['type', ['startsWith', 'explicit']]],
    ],
  },
  {
    name: 'cookieyes',
    title: 'CookieYes',
    page: 'https://www.cookieyes.com/documentation/retrieving-consent-data-using-api-getckyconsent/',
    scripts: 'cdn-cookieyes\\.com/|/plugins/cookie-law-info/',
    category: 'analytics',
    events: 'cookieyes_banner_load cookieyes_consent_update',
    state: [['getCkyConsent']],
    rules: [
      ['granted', ['categories', '{category}']],
      ['denied', ['isUserActionCompleted']],
    ],
  },
  {
    name: 'complianz',
    title: 'Complianz',
    page: 'https://complianz.io/developers-guide-for-third-party-integrations',
    scripts: '/plugins/complianz-',
    category: 'statistics',
    categories: ['preferences', 'marketing'],
    events: 'cmplz_cookie_warning_loaded cmplz_status_change cmplz_fire_categories cmplz_revoke',
    state: [],
    rules: [
      ['granted', [['cmplz_has_consent', '{category}']]],
      ['denied', [['cmplz_get_banner_status'], ['startsWith', 'dismissed']]],
    ],
  },
  {
    name: 'shopify',
    title: "Shopify's customer privacy API",
    page: 'https://shopify.dev/docs/api/customer-privacy',
    scripts: 'cdn\\.shopify\\.com/|/cdn/shopifycloud/|/consent-tracking-api',
    category: 'analytics',
    categories: ['marketing', 'preferences', 'sale_of_data'],
    methods: {
      analytics: 'analyticsProcessingAllowed',
      marketing: 'marketingAllowed',
      preferences: 'preferencesProcessingAllowed',
      sale_of_data: 'saleOfDataAllowed',
    },
    events: 'visitorConsentCollected',
    state: ['Shopify', 'customerPrivacy'],
    load: ['Shopify', ['loadFeatures', [{ name: 'consent-tracking-api', version: '0.1' }]]],
    rules: [
      ['granted', [['{method}']]],
      ['denied', [['currentVisitorConsent'], '{category}', ['startsWith', 'no']]],
    ],
  },
  {
    name: 'wpConsent',
    title: 'WP Consent API',
    page: 'https://wordpress.org/plugins/wp-consent-api/',
    scripts: '/plugins/wp-consent-api/',
    category: 'statistics',
    categories: ['statistics-anonymous', 'preferences', 'marketing'],
    events: 'wp_consent_type_defined wp_listen_for_consent_change',
    state: [],
    rules: [
      [
        'granted',
        [
          ['consent_api_get_cookie', 'wp_consent_{category}'],
          ['startsWith', 'allow'],
        ],
      ],
      [
        'denied',
        [
          ['consent_api_get_cookie', 'wp_consent_{category}'],
          ['startsWith', 'deny'],
        ],
      ],
      // Without a banner, wp_has_consent() is true and there is no type.
      ['granted', ['wp_consent_type', ['includes', 'optout']], [['wp_has_consent', '{category}']]],
    ],
  },
]
