/** A campaign: its link, its report as a picture, and what was sent. The report is looked at again while it is open. */
import { copy, h, sign } from '/live/dom.js'
import { createLater } from '/live/later.js'
import { showState } from '/live/operator.js'
import { loadCampaign, loadNewest, loadReport } from './data.js'
import { wordOf } from './fields.js'
import { createFunnel } from './funnel.js'
import { channel } from './list.js'
import {
  linkOf,
  namesakes,
  number,
  percent,
  quoteNames,
  showMoment,
  tellIncomplete,
} from './model.js'
import { createNames } from './names.js'
import { createPreview } from './preview.js'
import { shopOf } from './shop.js'
import { createTimeline, legend, tableOf } from './timeline.js'

/** How often the report is asked for while the page is seen, ms. */
const LOOK_MS = 2000
/** After a try without an answer, ms. */
const RETRY_MS = 4000
export function createReport(element, page) {
  const funnel = createFunnel()
  const timeline = createTimeline()
  const title = h('h2', { tabindex: '-1', 'data-test': 'campaign-name' })
  const facts = h('p', { class: 'facts' })
  const back = h(
    'a',
    { class: 'back', href: '/campaigns/', 'data-place': '', 'data-test': 'back' },
    sign('s-back'),
    'Campaigns',
  )
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: '', 'data-test': 'trouble' })
  const link = h('div', { class: 'card linkbox' })
  const figures = h('dl', { class: 'card figures', 'aria-label': 'Totals' })
  const names = createNames()
  const table = h('div', { class: 'scroll' })
  const empty = h('div', { class: 'card first', hidden: '', 'data-test': 'report-empty' })
  const other = h('div', { class: 'card first', hidden: '', 'data-test': 'no-report' })
  const incomplete = h('p', { class: 'hint', hidden: '', 'data-test': 'incomplete' })
  const sent = h('dl', { class: 'sent' })
  const preview = createPreview('The campaign’s HTML')
  const picture = h(
    'div',
    { class: 'report', hidden: '', 'data-test': 'report' },
    figures,
    panel('Funnel', 'How far the visitors came', funnel.element),
    panel('Events by name', 'What their devices reported', names.element),
    panel(
      'Day by day',
      legend(),
      timeline.element,
      h('details', {}, h('summary', {}, 'As a table'), table),
    ),
    h(
      'p',
      { class: 'hint bots' },
      'Visits by programs, such as crawlers and monitors, are counted too.',
    ),
  )
  const whole = h(
    'details',
    { class: 'card whole' },
    h('summary', {}, h('h3', {}, 'What it says')),
    h('div', { class: 'letter' }, sent, preview),
  )
  element.append(
    h('div', { class: 'head' }, back, title, facts),
    trouble,
    link,
    incomplete,
    empty,
    other,
    picture,
    whole,
  )

  let customer
  let id = ''
  const later = createLater()
  /** Each visit has a number: an answer to an earlier one is let go. */
  let visit = 0
  /** The visit whose report is being asked for; 0 for none. */
  let asking = 0
  let drawn = ''

  function panel(name, under, ...inside) {
    const says = typeof under === 'string' ? h('p', { class: 'hint' }, under) : under
    return h(
      'section',
      { class: 'card', 'aria-label': name },
      h('div', { class: 'caption' }, h('h3', {}, name), says),
      ...inside,
    )
  }

  function show(watched, place) {
    customer = watched
    id = place.id
    drawn = ''
    names.reset()
    for (const part of [link, incomplete, empty, other, picture, whole, trouble]) part.hidden = true
    title.textContent = '…'
    facts.replaceChildren()
    back.href = page.href({ view: 'list', search: '', type: '', page: 1 })
    begin(++visit)
    return () => {
      visit++
      later.stop()
    }
  }

  async function begin(mine) {
    const answer = await loadCampaign(customer.customerId, id)
    if (mine !== visit || page.ends(answer.status, customer)) return
    if (!answer.ok) return showTrouble(answer, () => begin(mine))
    const campaign = answer.body
    trouble.hidden = true
    drawCampaign(campaign)
    tellNamesakes(campaign, mine)
    if (campaign.type === 'email') look()
    else showOther(campaign)
  }

  /** Asks for the report, draws it where it has changed, and comes back to it. */
  async function look() {
    if (asking === visit) return
    later.stop()
    const mine = visit
    asking = mine
    const answer = await loadReport(customer.customerId, id)
    if (asking === mine) asking = 0
    if (mine !== visit || page.ends(answer.status, customer)) return
    if (!answer.ok) return showTrouble(answer, look)
    trouble.hidden = true
    showState('connected')
    const text = JSON.stringify(answer.body)
    if (text !== drawn) draw(answer.body)
    drawn = text
    later.set(look, LOOK_MS)
  }

  function showTrouble({ status, body }, again) {
    const isGone = status === 404
    showState(status === 0 ? 'unreachable' : '')
    trouble.hidden = status === 0
    trouble.textContent = body?.message ?? `That did not work (${status}).`
    if (isGone) {
      title.textContent = 'No such campaign'
      trouble.textContent =
        'This customer has no campaign at this address. It may be another customer’s.'
      return
    }
    later.set(again, RETRY_MS)
  }

  function drawCampaign({
    type,
    mode,
    status,
    sender,
    audience,
    subject,
    content,
    scheduling,
    tracking,
  }) {
    title.textContent = subject.name
    facts.replaceChildren(
      channel(type),
      h('span', {}, `${status} for ${showMoment(scheduling.send_at)}`),
    )
    drawLink(tracking, type)
    const rows = [
      ['From', `${sender.name} <${sender.sender}>`],
      ['Replies to', sender.reply_to],
      ['Subject line', subject.subject_line],
      ['Preview text', subject.preview_text],
      ['Mode', wordOf('mode', mode)],
      [
        'Audience',
        `${wordOf('audience.audience_type', audience.audience_type)}${audience.smart_sending ? ', but who had a message just now' : ''}`,
      ],
      [
        'Send at',
        `${showMoment(scheduling.send_at)}${scheduling.use_optimal_time ? ', each at their best hour' : ''}`,
      ],
      ['Optimised for', wordOf('scheduling.optimize_for', scheduling.optimize_for)],
      ['id', h('code', { 'data-test': 'campaign-id' }, id)],
    ]
    sent.replaceChildren(
      ...rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
    )
    preview.style.setProperty('--room', `${roomFor(content.html)}px`)
    preview.show(content.html)
    whole.hidden = false
  }

  /** Visits by the link of another campaign with the same values are in this one's report. */
  async function tellNamesakes({ tracking }, mine) {
    const answer = await loadNewest(customer.customerId)
    if (mine !== visit || !answer.ok) return
    const others = namesakes(answer.body.data, tracking, id)
    if (others.length === 0) return
    link
      .querySelector('.address')
      .append(
        h(
          'span',
          { class: 'hint', 'data-test': 'namesakes' },
          `Also the values of ${quoteNames(others)}: visits can not be told apart.`,
        ),
      )
  }

  /** The address that makes a visit the campaign's. */
  function drawLink(tracking, type) {
    const shop = shopOf(customer)
    const href = linkOf(shop.href, tracking)
    const copying = h(
      'button',
      {
        type: 'button',
        'data-test': 'copy-link',
        onclick: ({ currentTarget }) => copy(href, currentTarget),
      },
      sign('s-copy'),
      h('span', {}, 'Copy link'),
    )
    const opening =
      shop.isDemo && type === 'email'
        ? [
            h(
              'a',
              { class: 'button primary', href, target: 'shoptrail-shop', 'data-test': 'open-shop' },
              sign('s-shop'),
              'Open the demo shop from this campaign',
            ),
          ]
        : []
    link.replaceChildren(
      h(
        'div',
        { class: 'address' },
        h('span', { class: 'hint' }, 'The link for its readers'),
        h('code', { 'data-test': 'link' }, href),
      ),
      h('div', { class: 'row' }, copying, ...opening),
    )
    if (!shop.isKnown)
      link
        .querySelector('.address')
        .append(
          h('span', { class: 'hint' }, 'Put your shop’s address in front of the question mark.'),
        )
    link.hidden = false
  }

  function showOther({ type }) {
    other.replaceChildren(
      h('h3', {}, 'Reports are of ', h('span', { class: 'unbroken' }, 'e-mail'), ' campaigns'),
      h(
        'p',
        {},
        `This one is sent as ${type === 'sms' ? 'SMS' : 'push'}. Its link works all the same: visits by it are in the live view, with their utm values.`,
      ),
    )
    other.hidden = false
  }

  function draw(report) {
    incomplete.textContent = tellIncomplete(report)
    incomplete.hidden = !incomplete.textContent
    empty.hidden = report.visitors > 0
    picture.hidden = report.visitors === 0
    if (report.visitors === 0) return empty.replaceChildren(...waiting())
    drawFigures(report)
    // Seen first, then drawn: a hidden picture has no width.
    funnel.draw(report)
    timeline.draw(report)
    names.draw(report)
    table.replaceChildren(tableOf(report))
  }

  function drawFigures({ visitors, identified, days }) {
    const sum = (field) => days.reduce((all, day) => all + day[field], 0)
    const rows = [
      ['visitors', 'Visitors', visitors, 'devices that came by the link'],
      [
        'identified',
        'Identified',
        identified,
        `${percent(identified, visitors)} of them by e-mail`,
      ],
      ['carts', 'Added to cart', sum('add_to_cart'), 'times, all days together'],
      ['checkouts', 'Checkouts', sum('initiate_checkout'), 'times, all days together'],
    ]
    figures.replaceChildren(
      ...rows.map(([test, name, value, under]) =>
        h(
          'div',
          {},
          h('dt', {}, name),
          h('dd', {}, h('b', { 'data-test': test }, number(value)), h('small', {}, under)),
        ),
      ),
    )
  }

  function waiting() {
    const { isDemo } = shopOf(customer)
    return [
      h('div', { class: 'waiting', 'aria-hidden': 'true' }, h('i'), h('i'), h('i')),
      h('h3', {}, 'Waiting for the first visit'),
      h(
        'ol',
        {},
        h(
          'li',
          {},
          isDemo
            ? 'Open the demo shop from this campaign, with the button above.'
            : 'Open the link above, or put it into the letter.',
        ),
        h('li', {}, 'Look at a product, put it into the cart, go to checkout.'),
        h(
          'li',
          {},
          'Come back: the report fills by itself. A device belongs to the campaign for 7 days, until it comes by another one’s link.',
        ),
      ),
    ]
  }

  return { element, show }
}

/**
 * How tall a letter is, about, px: its frame has no scripts and no one else may look into it. A letter that
 * is taller scrolls.
 */
function roomFor(/** @type {string} */ html) {
  const blocks = html.match(/<(?:p|h\d|li|tr|div|img|br)\b/gi)?.length ?? 0
  const lines = html.replace(/<[^<>]*>/g, '').trim().length / 50
  return Math.round(Math.min(420, Math.max(110, 60 + 40 * blocks + 24 * lines)))
}
