/**
 * The form for a new campaign. It checks nothing: the gateway does, by the contract, and its words are shown at each
 * field. What was typed is kept until the campaign is created.
 */
import { createRef, type TargetedEvent } from 'preact'
import { dropDraft, keepDraft, readDraft } from '../operator/drafts.ts'
import type { Customer } from '../operator/operator.ts'
import { Sign } from '../operator/signs.tsx'
import {
  type Answered,
  createCampaign,
  describeRefusal,
  type Issue,
  loadNewest,
  type Refused,
} from './data.ts'
import { FaultSummary, faultOf, forgive, NO_FAULTS } from './faults.tsx'
import { Field } from './field.tsx'
import { exampleOf, type FieldPath, GROUPS } from './fields.ts'
import { Letter } from './letter.tsx'
import {
  attributeOf,
  type CampaignHead,
  isPast,
  LIST,
  linkOf,
  type NewCampaign,
  namesakes,
  type Path,
  quoteNames,
  slugOf,
  startValues,
  toCampaign,
  type Values,
} from './model.ts'
import type { CampaignsPage } from './page.ts'
import { shopOf } from './shop.ts'

/** The letter and the notes are drawn after a pause in typing. */
const SHOW_AFTER_MS = 250

export function createForm(page: CampaignsPage) {
  let values = startValues(new Date())
  /** The values that the letter and the notes show. */
  let shown = values
  let faults = NO_FAULTS
  /** The customer whose values these are. */
  let customer: Customer | undefined
  /** The campaigns there are, to find those with the same utm values. */
  let heads: readonly CampaignHead[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let isShown = false
  /** Customers of which a campaign is on its way. */
  const sending = new Set<string>()
  const form = createRef<HTMLFormElement>()
  const faultBox = createRef<HTMLDivElement>()

  function show(watched: Customer) {
    if (customer?.customerId !== watched.customerId) {
      customer = watched
      fill({ ...startValues(new Date()), ...readDraft(watched.customerId) })
    }
    isShown = true
    compare(watched.customerId)
    return () => {
      isShown = false
      clearTimeout(timer)
    }
  }

  /** Drops what was typed: the operator has signed out. */
  function forget() {
    customer = undefined
    fill(startValues(new Date()))
  }

  function fill(these: Values) {
    if (!customer) heads = []
    values = these
    shown = these
    faults = NO_FAULTS
    page.draw()
  }

  /** A value has changed. Values that follow it do so until they are changed themselves. */
  function change(path: Path, value: string) {
    const before = values
    values = { ...values, [path]: value }
    if (path === 'subject.name')
      follow('tracking.utm_campaign', slugOf(before[path]), slugOf(value))
    if (path === 'sender.sender') follow('sender.reply_to', before[path], value)
    if (path === 'type') follow('tracking.utm_medium', before.type, value)
    followLink(linkIn(before))
    const changed = (Object.keys(values) as Path[]).filter((one) => values[one] !== before[one])
    faults = forgive(faults, changed)
    if (customer) keepDraft(customer.customerId, values)
    clearTimeout(timer)
    timer = setTimeout(() => {
      shown = values
      page.draw()
    }, SHOW_AFTER_MS)
    page.draw()
  }

  function follow(path: Path, was: string, is: string) {
    if (values[path] === was) values = { ...values, [path]: is }
  }

  /** The campaign's link as it stands in a letter with these values; '' while no customer is watched. */
  const linkIn = (those: Values): string =>
    customer ? attributeOf(linkOf(shopOf(customer).href, toCampaign(those).tracking)) : ''

  /** The campaign's own link in the letter stays its own. */
  function followLink(was: string) {
    const is = linkIn(values)
    const html = values['content.html']
    if (was !== is && html.includes(was))
      values = { ...values, 'content.html': html.split(was).join(is) }
  }

  async function compare(customerId: string) {
    const answer = await loadNewest(customerId)
    if (customer?.customerId !== customerId || !answer.ok) return
    heads = answer.body.data
    page.draw()
  }

  const findHtml = () => form.current?.querySelector('textarea')

  function useExample() {
    if (values['content.html'].trim()) return
    write(exampleOf(linkIn(values)))
  }

  /** Around what is selected, or where the cursor is. */
  function insertLink() {
    const html = findHtml()
    if (!html) return
    const { selectionStart, selectionEnd, value } = html
    const text = value.slice(selectionStart, selectionEnd) || 'See it in the shop'
    html.setRangeText(`<a href=${linkIn(values)}>${text}</a>`, selectionStart, selectionEnd, 'end')
    write(html.value)
  }

  function write(html: string) {
    change('content.html', html)
    findHtml()?.focus()
  }

  function startAgain() {
    if (customer) dropDraft(customer.customerId)
    fill(startValues(new Date()))
    form.current?.querySelector('input')?.focus()
  }

  async function submit(event: TargetedEvent<HTMLFormElement>) {
    event.preventDefault()
    if (!customer) return
    const sender = customer
    const { customerId } = sender
    if (sending.has(customerId)) return
    const campaign = toCampaign(values)
    sending.add(customerId)
    page.draw()
    const answer = await createCampaign(customerId, campaign)
    sending.delete(customerId)
    page.draw()
    const isOurs = customer?.customerId === customerId
    const isAwaited = isShown && isOurs
    if (answer.ok) {
      dropDraft(customerId)
      if (isOurs) customer = undefined
    }
    if (page.ends(answer.status, sender)) return
    // An operator who has gone elsewhere meanwhile stays there.
    if (!isAwaited) return page.tell(sender, describeOutcome(answer, campaign.subject.name))
    page.setState(answer.status === 0 ? 'unreachable' : '')
    if (answer.ok) return page.open({ view: 'campaign', id: answer.body.id })
    const issues = issuesOf(answer, campaign)
    const otherwise = issues.length === 0 ? describeFailure(answer) : ''
    faults = { issues, otherwise, values }
    page.draw()
    focusFault()
  }

  /** The first field with a fault, else the summary. */
  function focusFault() {
    const box = form.current?.querySelector('.is-wrong')
    const control =
      box?.querySelector<HTMLElement>(':checked') ??
      box?.querySelector<HTMLElement>('input, textarea') ??
      faultBox.current
    control?.focus()
  }

  function noteOf(path: FieldPath): string {
    if (path === 'type' && values.type !== 'email')
      return 'The contract asks for every field on every channel, also for those that only e-mail has.'
    if (path === 'scheduling.send_at') {
      const isLate = isPast(shown['scheduling.date'], shown['scheduling.time'], new Date())
      return isLate ? 'This is in the past. It may be.' : ''
    }
    if (path !== 'tracking.utm_campaign') return ''
    const others = namesakes(heads, toCampaign(shown).tracking)
    return others.length > 0
      ? `All three are also the values of ${quoteNames(others)}: visits could not be told apart.`
      : ''
  }

  function View() {
    const isBusy = customer !== undefined && sending.has(customer.customerId)
    return (
      <>
        <div class="head">
          <a class="back" href={page.href(LIST)} data-place data-test="back">
            <Sign name="back" />
            Campaigns
          </a>
          <h2 tabIndex={-1}>New campaign</h2>
        </div>
        <div class="split">
          <form
            ref={form}
            noValidate
            autocomplete="off"
            onSubmit={submit}
            data-test="campaign-form"
          >
            {GROUPS.map(({ title, hint, fields }) => (
              <fieldset key={title} class="card">
                <legend>{title}</legend>
                {hint && <p class="hint">{hint}</p>}
                <div class="fields">
                  {fields.map((field) => (
                    <Field
                      key={field.path}
                      field={field}
                      values={values}
                      note={noteOf(field.path)}
                      fault={faultOf(faults, field.path)}
                      onChange={change}
                      tools={field.is === 'html' && <HtmlTools />}
                    />
                  ))}
                </div>
              </fieldset>
            ))}
            <div class="send">
              <FaultSummary faults={faults} box={faultBox} />
              <button type="submit" class="primary" disabled={isBusy} data-test="create">
                {isBusy ? 'Creating…' : 'Create campaign'}
              </button>
              <button type="button" class="text" onClick={startAgain} data-test="start-again">
                Start again
              </button>
            </div>
          </form>
          {customer && <Letter campaign={toCampaign(shown)} shop={shopOf(customer)} />}
        </div>
      </>
    )
  }

  /** Beside the label of the HTML. */
  function HtmlTools() {
    return values['content.html'].trim() ? (
      <button
        key="insert"
        type="button"
        class="text example"
        onClick={insertLink}
        data-test="insert-link"
      >
        Insert the campaign’s link
      </button>
    ) : (
      <button
        key="example"
        type="button"
        class="text example"
        onClick={useExample}
        data-test="use-example"
      >
        Begin with an example
      </button>
    )
  }

  return { View, show, forget }
}

/** The faults by the contract. An address that stands for both fields has its faults once. */
function issuesOf({ body }: Refused, { sender }: NewCampaign): readonly Issue[] {
  const issues = body?.issues ?? []
  const isOnce =
    sender.reply_to === sender.sender && issues.some(({ path }) => path === 'sender.sender')
  return isOnce ? issues.filter(({ path }) => path !== 'sender.reply_to') : issues
}

const describeOutcome = ({ ok }: Answered<unknown>, name: string): string =>
  ok
    ? `“${name}” was created.`
    : `“${name || 'The new campaign'}” was not created. What you typed is still in its form.`

/** A sentence for an answer that names no field. */
function describeFailure(answer: Refused): string {
  const { status, body } = answer
  if (status === 0)
    return 'The gateway does not answer. What you typed is still here: try again when it does. If it went away just now, look at the list first: the campaign may be there.'
  if (status === 429 || status === 503)
    return `${body?.message ?? 'The gateway is busy'}. What you typed is still here: try again.`
  return describeRefusal(answer)
}
