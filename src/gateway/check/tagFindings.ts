import { GLOBAL } from '../../contract/settings.ts'
import { callsHelpers, findAdder, findInlined, findStub, type Tag } from './findTags.ts'
import {
  found,
  type KnownSettings,
  type PageFinding,
  type ShopPage,
  type Wanted,
} from './shopPage.ts'
import { stubOf, tagOf } from './snippetLines.ts'

/** Whether the tag is on a page, whether it runs, and what is wrong with it. */
export function tagFindings(
  shop: ShopPage,
  wanted: Wanted,
  settings: KnownSettings | undefined,
): readonly PageFinding[] {
  const { url, page, tags } = shop
  const running = tags.filter(({ dead }) => !dead)
  if (running.length === 0) return [missing(shop, wanted)]
  const own = running.filter(({ key }) => key === wanted.key)
  const others = [...new Set(running.map(({ key }) => key))].filter((key) => key !== wanted.key)
  const findings: PageFinding[] = []
  const add = (...given: Parameters<typeof found>) => findings.push(found(...given))
  const tag = tagOf(wanted.gateway, wanted.key)
  const [first] = own
  if (!first)
    add(
      'error',
      'tag-other-key',
      `The tag is there, but for the key ${others.join(', ')} instead of ${wanted.key}.`,
      [tag],
      url,
    )
  else {
    add('ok', 'tag-ok', `The tag is there, for the key ${wanted.key} of ${first.gateway}.`, [], url)
    if (others.length > 0)
      add(
        'note',
        'tag-two-keys',
        `There is a tag for the key ${others.join(', ')} too. Each key gets every event.`,
        [],
        url,
      )
    if (own.length > 1)
      add(
        'warning',
        'tag-twice',
        `The tag is there ${own.length} times. Only the first one starts; the others cost loading time.`,
        ['Keep one of them. A tag manager and a template often both have it.'],
        url,
      )
    const elsewhere = own.find(({ gateway }) => gateway !== wanted.gateway)?.gateway
    if (elsewhere !== undefined && new URL(elsewhere).hostname === new URL(url).hostname)
      add(
        'ok',
        'tag-own-host',
        `The tag loads the script through the shop's own host (${elsewhere}).`,
        [],
        url,
      )
    else if (elsewhere !== undefined)
      add(
        'warning',
        'tag-other-gateway',
        `The tag loads the script from ${elsewhere}, not from ${wanted.gateway}.`,
        [tag],
        url,
      )
  }
  for (const one of first ? own : running) findings.push(...attributeFindings(one, url))
  const { global } = settings ?? { global: GLOBAL }
  if (callsHelpers(page, global) && !findStub(page))
    add(
      'warning',
      'stub-missing',
      `A script in the page calls a helper of ${global}, and there is no stub before it. A call before the script has loaded is an error.`,
      [stubOf(global), 'Put it before the tag.'],
      url,
    )
  return findings
}

/** What the attributes of a tag that runs get wrong. */
function attributeFindings(tag: Tag, url: string): readonly PageFinding[] {
  const { attributes, src = '' } = tag.script
  const findings: PageFinding[] = []
  const { integrity, crossorigin, type = '' } = attributes
  if (integrity && crossorigin === undefined && new URL(src).origin !== new URL(url).origin)
    findings.push(
      found(
        'error',
        'tag-integrity-cors',
        'The tag has integrity without crossorigin, so browsers do not run the script of another host.',
        [`<script async src="${src}" integrity="${integrity}" crossorigin="anonymous"></script>`],
        url,
      ),
    )
  if (integrity && !tag.isPinned)
    findings.push(
      found(
        'error',
        'tag-integrity-unpinned',
        'The tag has integrity, and its address is the one whose script changes with the settings and with each version. After the next change browsers do not run it.',
        [
          `npx shoptrail snippet --key ${tag.key} --integrity`,
          'It prints a tag whose script stays the same.',
        ],
        url,
      ),
    )
  if (attributes.async === undefined && attributes.defer === undefined && !/^module$/i.test(type))
    findings.push(
      found(
        'note',
        'tag-blocking',
        'The tag has no async, so the page waits for the script while it loads.',
        [tagOf(tag.gateway, tag.key)],
        url,
      ),
    )
  return findings
}

/** Optimizers give scripts such a type, and run them after everything else has loaded. */
const ROCKET = /^[\da-f]{24}-/

function missing({ url, page, tags }: ShopPage, wanted: Wanted): PageFinding {
  const tag = tagOf(wanted.gateway, wanted.key)
  const [inlined] = findInlined(page)
  if (inlined)
    return inlined.hasBase
      ? found(
          'note',
          'tag-inlined',
          `The script itself is in the page, for the key ${inlined.key}. Its settings and its version stay those of the day when it was put there.`,
          ['Put the tag in its place, or renew the text at each change.', tag],
          url,
        )
      : found(
          'error',
          'tag-inlined',
          `The script itself is in the page, for the key ${inlined.key}. It does not know the address of the gateway, so it does not start.`,
          [tag, 'Or set PUBLIC_URL at the gateway, and put the script into the page again.'],
          url,
        )
  const dead = tags.find(({ dead }) => dead === 'delayed') ?? tags[0]
  if (dead) return explainDead(dead, tag, url)
  const adder = findAdder(page)
  if (adder)
    return found(
      'note',
      'tag-added',
      adder === 'script'
        ? 'The tag is not in the HTML. A script in the page may add it, which this check does not see.'
        : 'The tag is not in the HTML. The tag manager of the page may add it, which this check does not see.',
      ['Open the page, and see in the live view whether it reports something.', tag],
      url,
    )
  return found('error', 'tag-missing', 'The tag is not there.', [tag], url)
}

function explainDead({ dead, script }: Tag, tag: string, url: string): PageFinding {
  const type = script.attributes.type ?? ''
  if (dead === 'delayed' && ROCKET.test(type))
    return found(
      'warning',
      'tag-delayed',
      'An optimizer holds the tag back until everything else has loaded. Visitors who leave before that are not seen.',
      [tag.replace('<script async', '<script async data-cfasync="false"')],
      url,
    )
  if (dead === 'delayed')
    return found(
      'warning',
      'tag-delayed',
      `A consent tool or an optimizer holds the tag back${type ? ` (type="${type}")` : ''}. Until it lets it run nothing is seen, and a first page is lost if the visitor answers on the second.`,
      [tag, 'Exclude the tag from it, and let the script ask the consent tool: docs/consent.md.'],
      url,
    )
  const where = {
    comment: 'in a comment, which browsers do not run.',
    noscript: 'in a noscript element, which runs only in browsers without JavaScript.',
    template: 'in a template element, which browsers do not run.',
    nomodule: 'there with nomodule, so only very old browsers run it.',
  }[dead as 'comment']
  return found('error', `tag-in-${dead}`, `The tag is ${where}`, [tag], url)
}
