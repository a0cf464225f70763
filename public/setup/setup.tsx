/**
 * The set up page: what to paste into a shop, a check of the shop, and a walk through it while its events arrive. The
 * shop's address is in this page's address, which an operator can send to a colleague.
 */
import { createRef, render, type TargetedEvent } from 'preact'
import type { CheckReport, SetupTexts } from '../../src/contract/setup.ts'
import { startFeed } from '../operator/feed.ts'
import { findGateway } from '../operator/findGateway.ts'
import { Frame } from '../operator/frame.tsx'
import { nameOperation } from '../operator/kinds.ts'
import { type Customer, createOperator, type PageState } from '../operator/operator.ts'
import { describeRefusal, endOf, type Refused } from '../operator/requests.ts'
import { hashOf, readAddress, shopOf } from './address.ts'
import { createArrivals } from './arrivals.ts'
import { checkShop, loadCoverage, loadTexts } from './data.ts'
import { Check } from './report.tsx'
import { makeSteps, type Step } from './steps.ts'
import { Consent, NotAllowed, Policy, Tag } from './texts.tsx'
import { type Found, Walk } from './walk.tsx'

const root = document.querySelector('#page') as HTMLElement
const field = createRef<HTMLInputElement>()
const arrivals = createArrivals()
const operator = createOperator({ title: 'setup', draw, onWatch: watch, onLeave: leave })

let watched: Customer | undefined
let stopFeed = () => {}
/** The shop's address; '' if there is none yet. */
let shop = ''
let texts: SetupTexts | undefined
let report: CheckReport | undefined
let isChecking = false
/** Sentences; '' for none. */
let trouble = ''
let checkTrouble = ''
let announcement = { text: '', id: 0 }
/** Number of the visit to a customer and an address: answers for earlier ones are dropped. */
let visit = 0
let isPlanned = false

addEventListener('hashchange', () => {
  const named = shopOf(location.hash)
  if (watched && named && named !== shop) open(watched, named)
  // The link that skips the header has a fragment of its own.
  if (shop && !named) history.replaceState(null, '', hashOf(shop))
})
draw()
operator.start()

/* The customer and the address */

function watch(customer: Customer, serverNow: number) {
  leave()
  watched = customer
  arrivals.start(serverNow)
  stopFeed = startFeed(customer.customerId, {
    onEvent(event) {
      if (arrivals.takeEvent(event)) say(`${nameOperation(event.operation)} arrived`)
      plan()
    },
    onState: (state: PageState) => operator.setState(state),
    onEnd: (reason) => operator.showEnd(customer, reason),
  })
  readCoverage(customer)
  const named = shopOf(location.hash) ?? usualAddress(customer)
  if (named) open(customer, named)
  else setTimeout(() => field.current?.focus())
}

/** The demo customer has the demo shop, another the first origin of its list. */
const usualAddress = ({ demo, origin }: Customer): string | undefined =>
  demo ? `${findGateway()}/shop/` : readAddress(origin ?? '')

function leave() {
  visit++
  stopFeed()
  stopFeed = () => {}
  watched = undefined
  forget()
  shop = ''
}

/** Forgets what belongs to an address. */
function forget() {
  texts = undefined
  report = undefined
  isChecking = false
  trouble = ''
  checkTrouble = ''
}

async function open(customer: Customer, address: string) {
  const mine = ++visit
  const { customerId } = customer
  forget()
  shop = address
  if (field.current) field.current.value = address
  history.replaceState(null, '', `?customer=${encodeURIComponent(customerId)}${hashOf(address)}`)
  draw()
  const answer = await loadTexts(customerId, address)
  if (mine !== visit) return
  if (answer.ok) texts = answer.body
  else trouble = fail(customer, answer)
  draw()
}

async function check() {
  if (!watched || !shop || isChecking) return
  const mine = visit
  const customer = watched
  isChecking = true
  checkTrouble = ''
  draw()
  const answer = await checkShop(customer.customerId, shop)
  if (mine !== visit) return
  isChecking = false
  if (answer.ok) ({ report, texts } = answer.body)
  else checkTrouble = fail(customer, answer)
  draw()
}

async function readCoverage(customer: Customer) {
  const answer = await loadCoverage(customer.customerId)
  if (watched !== customer) return
  if (answer.ok) arrivals.takeCoverage(answer.body.coverage)
  else trouble ||= `What arrived earlier is not known. ${fail(customer, answer)}`
  draw()
}

/** @returns The failure as a sentence. If the operator may not see the customer any more, asks to sign in. */
function fail(customer: Customer, answer: Refused): string {
  const reason = endOf(answer.status)
  if (reason) operator.showEnd(customer, reason)
  return answer.status === 0
    ? 'The gateway does not answer, or broke off. Try again.'
    : describeRefusal(answer)
}

/* The operator's actions */

function submit(event: TargetedEvent<HTMLFormElement>) {
  event.preventDefault()
  const typed = String(new FormData(event.currentTarget).get('shop'))
  const address = readAddress(typed)
  if (watched && address) return void open(watched, address)
  // An answer for the address before would be shown with the refusal.
  visit++
  forget()
  trouble = 'That is no address of a web page. Expected one such as https://www.shop.example.'
  draw()
}

/* The page */

function plan() {
  if (isPlanned) return
  isPlanned = true
  // Not an animation frame: a hidden page has none, and the shop is open in another tab.
  setTimeout(() => {
    isPlanned = false
    draw()
  }, 50)
}

/** Has screen readers announce a text, with the next draw. */
function say(text: string) {
  announcement = { text, id: announcement.id + 1 }
}

/** The address of a kind of page, if the check has found one. The shop's address is that of its home page. */
function findPage(kind: NonNullable<Step['page']>): Found {
  const found = report?.pages.find((page) => page.kind === kind && page.status === 200)
  return found ? { url: found.url, isFound: true } : { url: shop, isFound: kind === 'home' }
}

function draw() {
  render(<Page />, root)
}

function Page() {
  return (
    <>
      <Frame page="setup" operator={operator} skip={{ id: 'view', text: 'To the shop’s address' }}>
        <main id="view" class="sheet" hidden={!operator.view.isViewShown}>
          <div class="head">
            <h2>Set up a shop</h2>
            <p class="hint">
              What to paste, whether it is right, and what arrives. The address of this page can be
              sent to a colleague.
            </p>
          </div>
          <form class="card ask" onSubmit={submit}>
            <label for="shop">The shop’s address</label>
            <div class="row">
              <input
                id="shop"
                name="shop"
                ref={field}
                required
                maxLength={2_000}
                inputMode="url"
                placeholder="https://www.shop.example"
                autocomplete="url"
                autocapitalize="off"
                spellcheck={false}
                data-test="shop"
              />
              <button type="submit" class="primary" data-test="show">
                Show what to paste
              </button>
            </div>
          </form>
          <p class="trouble" role="alert" hidden={!trouble} data-test="trouble">
            {trouble}
          </p>
          {texts && watched && <Steps texts={texts} customer={watched} />}
        </main>
      </Frame>
      <p class="sr" role="status">
        {/* A new element each time, so that screen readers announce the same text again. */}
        <span key={announcement.id}>{announcement.text}</span>
      </p>
    </>
  )
}

function Steps({ texts, customer }: { readonly texts: SetupTexts; readonly customer: Customer }) {
  const isForbidding =
    report?.findings.some(
      ({ code, level }) => code.startsWith('csp-') && (level === 'error' || level === 'warning'),
    ) ?? false
  return (
    <>
      <NotAllowed origin={texts.origin} />
      <div class="two">
        <div>
          <Tag texts={texts} />
          <Check report={report} isBusy={isChecking} trouble={checkTrouble} onCheck={check} />
          <Policy texts={texts} isForbidding={isForbidding} />
          <Consent consent={texts.consent} isChecked={report !== undefined} />
        </div>
        <Walk
          key={customer.customerId}
          steps={makeSteps(findGateway(), customer.customerId, texts.global)}
          arrivals={arrivals}
          find={findPage}
        />
      </div>
    </>
  )
}
