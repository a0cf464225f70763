/** A campaign: its link, its report as charts, and its content. The report is loaded again while it is open. */
import type { ComponentChildren } from 'preact'
import type { CampaignRecord, EmailReport } from '../../src/contract/answers.ts'
import { CopyButton } from '../operator/copyButton.tsx'
import type { Customer } from '../operator/operator.ts'
import { describeRefusal, type Refused } from '../operator/requests.ts'
import { Sign } from '../operator/signs.tsx'
import { createVisibleTimer } from '../operator/visibleTimer.ts'
import { Channel } from './channel.tsx'
import { loadCampaign, loadNewest, loadReport } from './data.ts'
import { wordOf } from './fields.ts'
import { Figures } from './figures.tsx'
import { Funnel } from './funnel.tsx'
import { campaignsWithSameUtm, LIST, linkOf, type Place, quoteNames, showMoment } from './model.ts'
import { Names } from './names.tsx'
import { hasOrders, Orders } from './orders.tsx'
import type { CampaignsPage } from './page.ts'
import { Preview } from './preview.tsx'
import { Scope } from './scope.tsx'
import { type Shop, shopOf } from './shop.ts'
import { DayTable, Legend, Timeline } from './timeline.tsx'

/** The report is loaded this often while the page is visible. */
const READ_EVERY_MS = 2000
const RETRY_MS = 4000

type CampaignPlace = Extract<Place, { readonly view: 'campaign' }>

export function createReport(page: CampaignsPage) {
  let customer: Customer | undefined
  let id = ''
  /** Whether the figures include bots. */
  let bots = false
  let campaign: CampaignRecord | undefined
  let report: EmailReport | undefined
  /** Other campaigns with the same utm values. */
  let others: readonly string[] = []
  let isGone = false
  let trouble = ''
  const timer = createVisibleTimer()
  /** Number of times that this view was opened: answers for earlier times are dropped. */
  let visit = 0
  /** Number of the newest request for a report: answers to older ones are dropped. */
  let asked = 0
  let isAsking = false

  function show(watched: Customer, wanted: CampaignPlace) {
    customer = watched
    id = wanted.id
    bots = wanted.bots
    asked++
    isAsking = false
    campaign = undefined
    report = undefined
    others = []
    isGone = false
    trouble = ''
    begin(watched, ++visit)
    return () => {
      visit++
      asked++
      timer.stop()
    }
  }

  /** The address keeps the choice. The report before stays until the other one is there. */
  function chooseBots(wanted: boolean) {
    bots = wanted
    page.go({ view: 'campaign', id, bots }, true)
    isAsking = false
    if (customer) readReport(customer)
    page.draw()
  }

  async function begin(watched: Customer, mine: number) {
    const answer = await loadCampaign(watched.customerId, id)
    if (mine !== visit || page.endIfDenied(answer.status, watched)) return
    if (!answer.ok) return fail(answer, () => begin(watched, mine))
    trouble = ''
    campaign = answer.body
    page.draw()
    findOthers(watched, campaign, mine)
    if (campaign.type === 'email') readReport(watched)
  }

  /** Loads the report, and again every `READ_EVERY_MS`. */
  async function readReport(watched: Customer) {
    if (isAsking) return
    timer.stop()
    const mine = ++asked
    isAsking = true
    const answer = await loadReport(watched.customerId, id, bots)
    if (mine !== asked) return
    isAsking = false
    if (page.endIfDenied(answer.status, watched)) return
    if (!answer.ok) return fail(answer, () => readReport(watched))
    trouble = ''
    report = answer.body
    page.setState('connected')
    page.draw()
    timer.set(() => readReport(watched), READ_EVERY_MS)
  }

  function fail(answer: Refused, again: () => void) {
    isGone = answer.status === 404
    trouble = answer.status === 0 ? '' : describeRefusal(answer)
    if (isGone) trouble = 'This customer has no such campaign. It may belong to another customer.'
    else timer.set(again, RETRY_MS)
    page.setState(answer.status === 0 ? 'unreachable' : '')
    page.draw()
  }

  /** Finds other campaigns with the same utm values: their visits are in this report too. */
  async function findOthers(watched: Customer, { tracking }: CampaignRecord, mine: number) {
    const answer = await loadNewest(watched.customerId)
    if (mine !== visit || !answer.ok) return
    others = campaignsWithSameUtm(answer.body.data, tracking, id)
    page.draw()
  }

  function View() {
    const isEmpty =
      report && report.visitors === 0 && report.bots.visitors === 0 && !hasOrders(report)
    const filled = isEmpty ? undefined : report
    const shop = customer && shopOf(customer)
    return (
      <>
        <div class="head">
          <a class="back" href={page.href(LIST)} data-place data-test="back">
            <Sign name="back" />
            Campaigns
          </a>
          <h2 tabIndex={-1} data-test="campaign-name">
            {campaign?.subject.name ?? (isGone ? 'No such campaign' : '…')}
          </h2>
          <p class="facts">
            {campaign && <Channel type={campaign.type} />}
            {campaign && (
              <span>
                {campaign.status} for {showMoment(campaign.scheduling.send_at)}
              </span>
            )}
          </p>
        </div>
        <p class="trouble" role="alert" hidden={!trouble} data-test="trouble">
          {trouble}
        </p>
        {campaign && shop && <LinkBox campaign={campaign} shop={shop} others={others} />}
        {isEmpty && <FirstSteps isDemo={shop?.isDemo === true} />}
        {campaign && campaign.type !== 'email' && <NoReport type={campaign.type} />}
        <div class="report" hidden={!filled} data-test="report">
          {filled && <Report key={visit} report={filled} bots={bots} onBots={chooseBots} />}
        </div>
        {campaign && <Sent campaign={campaign} />}
      </>
    )
  }

  return { View, show }
}

/** The campaign's link: visits by it count for the campaign. */
function LinkBox({
  campaign: { tracking, type },
  shop,
  others,
}: {
  readonly campaign: CampaignRecord
  readonly shop: Shop
  readonly others: readonly string[]
}) {
  const href = linkOf(shop.href, tracking)
  return (
    <div class="card linkbox">
      <div class="address">
        <span class="hint">The campaign’s link</span>
        <code data-test="link">{href}</code>
        {!shop.isKnown && (
          <span class="hint">Put your shop’s address in front of the question mark.</span>
        )}
        {others.length > 0 && (
          <span class="hint" data-test="same-utm">
            Same utm values as {quoteNames(others)}: the visits are counted together.
          </span>
        )}
      </div>
      <div class="row">
        <CopyButton text={href} label="Copy link" test="copy-link" />
        {shop.isDemo && type === 'email' && (
          <a class="button primary" href={href} target="shoptrail-shop" data-test="open-shop">
            <Sign name="shop" />
            Open the demo shop from this campaign
          </a>
        )}
      </div>
    </div>
  )
}

function FirstSteps({ isDemo }: { readonly isDemo: boolean }) {
  return (
    <div class="card first" data-test="report-empty">
      <div class="waiting" aria-hidden="true">
        <i />
        <i />
        <i />
      </div>
      <h3>Waiting for the first visit</h3>
      <ol>
        <li>
          {isDemo
            ? 'Open the demo shop from this campaign, with the button above.'
            : 'Open the link above, or put it into the e-mail.'}
        </li>
        <li>Look at a product, put it into the cart, go to checkout.</li>
        <li>
          Come back: the report fills by itself. A device counts for the campaign for 7 days, or
          until it opens the link of another campaign.
        </li>
      </ol>
    </div>
  )
}

function NoReport({ type }: { readonly type: string }) {
  return (
    <div class="card first" data-test="no-report">
      <h3>
        Only <span class="unbroken">e-mail</span> campaigns have reports
      </h3>
      <p>
        This campaign is sent as {type === 'sms' ? 'SMS' : 'push'}. Visits by its link are in the
        live view, with their utm values.
      </p>
    </div>
  )
}

function Report({
  report,
  bots,
  onBots,
}: {
  readonly report: EmailReport
  readonly bots: boolean
  readonly onBots: (bots: boolean) => void
}) {
  return (
    <>
      <Scope report={report} bots={bots} onBots={onBots} />
      <Figures {...report} />
      <Panel name="Funnel" under={<p class="hint">How far the visitors came</p>}>
        <Funnel report={report} />
      </Panel>
      <Panel name="Events by name" under={<p class="hint">What their devices reported</p>}>
        <Names events={report.events} />
      </Panel>
      <Panel name="Day by day" under={<Legend report={report} />}>
        <Timeline report={report} />
        <details>
          <summary>As a table</summary>
          <div class="scroll">
            <DayTable report={report} />
          </div>
        </details>
      </Panel>
      {hasOrders(report) && (
        <Panel
          name="Orders by status"
          under={<p class="hint">The newest status that the shop has reported of each order</p>}
        >
          <Orders report={report} />
        </Panel>
      )}
    </>
  )
}

function Panel({
  name,
  under,
  children,
}: {
  readonly name: string
  readonly under: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <section class="card" aria-label={name}>
      <div class="caption">
        <h3>{name}</h3>
        {under}
      </div>
      {children}
    </section>
  )
}

/** The campaign as it was created. */
function Sent({ campaign }: { readonly campaign: CampaignRecord }) {
  const { id, mode, sender, audience, subject, content, scheduling } = campaign
  const audienceType = wordOf('audience.audience_type', audience.audience_type)
  const rows: readonly (readonly [string, ComponentChildren])[] = [
    ['From', `${sender.name} <${sender.sender}>`],
    ['Replies to', sender.reply_to],
    ['Subject line', subject.subject_line],
    ['Preview text', subject.preview_text],
    ['Mode', wordOf('mode', mode)],
    ['Recipients', audienceType + (audience.smart_sending ? ', with smart sending' : '')],
    [
      'Send at',
      showMoment(scheduling.send_at) +
        (scheduling.use_optimal_time ? ', at the best hour for each recipient' : ''),
    ],
    ['Optimised for', wordOf('scheduling.optimize_for', scheduling.optimize_for)],
    ['id', <code data-test="campaign-id">{id}</code>],
  ]
  return (
    <details class="card whole">
      <summary>
        <h3>Content and settings</h3>
      </summary>
      <div class="letter">
        <dl class="sent">
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <Preview
          html={content.html}
          title="The campaign’s HTML"
          height={estimateHeight(content.html)}
        />
      </div>
    </details>
  )
}

/** Estimates the height of an e-mail, px, because a sandboxed iframe can not be measured. A taller one scrolls. */
function estimateHeight(html: string): number {
  const blocks = html.match(/<(?:p|h\d|li|tr|div|img|br)\b/gi)?.length ?? 0
  const lines = html.replace(/<[^<>]*>/g, '').trim().length / 50
  return Math.round(Math.min(420, Math.max(110, 60 + 40 * blocks + 24 * lines)))
}
