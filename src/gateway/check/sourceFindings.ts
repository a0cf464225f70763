import { DATA_LAYER_NAME, DATA_LAYER_PREFIX } from '../../contract/settings.ts'
import { HELPERS, misspelledAttribute, nearestHelper } from '../../contract/trackAttributes.ts'
import type { Page } from './readPage.ts'
import {
  found,
  type KnownSettings,
  type PageFinding,
  type ShopPage,
  type Wanted,
} from './shopPage.ts'

const PLUGIN = new RegExp(`\\bevent["']?\\s*:\\s*["']${DATA_LAYER_PREFIX}\\w`)
const GA4_SCRIPT = /\/gtag\/js\?|\/gtm\.js\?/
const GA4_PUSH =
  /\bgtag\(\s*["']event["']|\bpush\(\s*\{[^}]{0,100}["']?ecommerce\b|\bGTM-[A-Z\d]{4,10}\b/
/** The name of the array, as a tag manager's line has it at its end. */
const LAYER_NAME = /["']script["']\s*,\s*["']([A-Za-z_$][\w$]{0,60})["']\s*,\s*["']GTM-/

/** What the pages already say about their visitors, and the settings that read it. */
export function sourceFindings(
  pages: readonly ShopPage[],
  settings: KnownSettings | undefined,
  { customerId }: Wanted,
): readonly PageFinding[] {
  const findings: PageFinding[] = []
  const live = pages.map(({ url, page }) => ({
    url,
    page,
    scripts: page.scripts.filter(({ place }) => place === 'page'),
  }))
  const set = (config: object) =>
    `npx shoptrail customer set ${customerId} --config '${JSON.stringify(config)}'`
  for (const { url, page, scripts } of live) {
    const texts = scripts.map(({ text }) => text)
    if (texts.some((text) => PLUGIN.test(text)))
      findings.push(
        settings?.dataLayer === false
          ? found(
              'warning',
              'plugin-unread',
              'A shop plugin pushes events into the dataLayer, and the key does not read them.',
              [set({ dataLayer: true })],
              url,
            )
          : found(
              'ok',
              'plugin-found',
              'A shop plugin pushes events into the dataLayer, which the script reads.',
              [],
              url,
            ),
      )
    const hasGa4 = scripts.some(
      ({ src, text }) => GA4_SCRIPT.test(src ?? '') || GA4_PUSH.test(text),
    )
    if (hasGa4 && !settings?.ga4)
      findings.push(
        found(
          'note',
          'ga4-found',
          'The page loads GA4 or a tag manager. If it pushes events of the shop (view_item, add_to_cart) and nothing else reports them, the script can read these.',
          [set({ ga4: true })],
          url,
        ),
      )
    else if (hasGa4)
      findings.push(
        found(
          'ok',
          'ga4-read',
          'The page loads GA4 or a tag manager, and the key reads its pushes.',
          [],
          url,
        ),
      )
    const name = texts.map((text) => LAYER_NAME.exec(text)?.[1]).find(Boolean)
    if (name && name !== (settings?.dataLayerName ?? DATA_LAYER_NAME))
      findings.push(
        found(
          'warning',
          'layer-name',
          `The tag manager's array is called ${name}, and the script reads ${settings?.dataLayerName ?? DATA_LAYER_NAME}.`,
          [set({ dataLayerName: name })],
          url,
        ),
      )
    if (page.hasProduct && !settings?.schemaOrg)
      findings.push(
        found(
          'note',
          'schema-found',
          'The page describes a product with schema.org. If nothing else reports product views, the script can read it.',
          [set({ schemaOrg: true })],
          url,
        ),
      )
    else if (page.hasProduct)
      findings.push(
        found(
          'ok',
          'schema-read',
          'The page describes a product with schema.org, and the key reads it.',
          [],
          url,
        ),
      )
    findings.push(...attributeFindings(page))
    if (page.generator)
      findings.push(
        found(
          'note',
          'generator',
          `The shop says that it is made with ${page.generator}. The guides say where the tag goes.`,
          ['docs/guides/README.md'],
          url,
        ),
      )
    if (page.isTooDeep)
      findings.push(
        found(
          'warning',
          'page-deep',
          'The HTML nests more elements than this check reads. Only its beginning was checked.',
          [],
          url,
        ),
      )
  }
  return findings
}

/** The most misspelled attributes of a page that are named. */
const MAX_NAMED = 10

/** What the page's `data-track` attributes report, and which of them seem to be misspelled. */
function attributeFindings({ url, trackAttributes }: Page): PageFinding[] {
  const helpers = trackAttributes.flatMap(([name, value]) => (name === 'data-track' ? [value] : []))
  const unknown = helpers.filter((helper) => !HELPERS.includes(helper))
  const others = unknown.filter((helper) => !nearestHelper(helper)).slice(0, MAX_NAMED)
  const findings: PageFinding[] = []
  const add = (...[level, code, message, fix]: Parameters<typeof found>) =>
    findings.push(found(level, code, message, fix, url))

  for (const helper of unknown.filter(nearestHelper).slice(0, MAX_NAMED))
    add(
      'warning',
      'attribute-helper',
      `data-track="${helper}" names no helper, so the script does not report it.`,
      [`data-track="${nearestHelper(helper)}"`],
    )
  for (const [name] of trackAttributes
    .filter(([name]) => misspelledAttribute(name))
    .slice(0, MAX_NAMED))
    add('warning', 'attribute-name', `The script does not read ${name}.`, [
      `${misspelledAttribute(name)}`,
    ])
  if (others.length)
    add(
      'note',
      'attribute-other',
      `These values of data-track name no helper, so the script does not report them: ${others.map((value) => `"${value}"`).join(', ')}.`,
      [`If they are meant for the script: ${HELPERS.join(', ')}`],
    )
  if (unknown.length < helpers.length)
    add('ok', 'attributes-found', 'The page has elements with data-track.')
  return findings
}
