/**
 * The form for a new campaign. The gateway checks the values, by the contract, and the form shows its messages at the
 * fields. A draft is kept until the campaign is created.
 */
import { createRef, type TargetedEvent } from 'preact'
import { dropDraft, keepDraft, readDraft } from '../operator/drafts.ts'
import type { Customer } from '../operator/operator.ts'
import { type Answered, describeRefusal, type Issue, type Refused } from '../operator/requests.ts'
import { Sign } from '../operator/signs.tsx'
import { createCampaign, loadNewest } from './data.ts'
import { FaultSummary, faultOf, forgive, NO_FAULTS } from './faults.tsx'
import { Field } from './field.tsx'
import { exampleOf, type FieldPath, GROUPS } from './fields.ts'
import { Letter } from './letter.tsx'
import {
  attributeOf,
  type CampaignHead,
  campaignsWithSameUtm,
  isPast,
  LIST,
  linkOf,
  type NewCampaign,
  type Path,
  quoteNames,
  slugOf,
  startValues,
  toCampaign,
  type Values,
} from './model.ts'
import type { CampaignsPage } from './page.ts'
import { shopOf } from './shop.ts'

/** The letter and the notes are updated after a pause in typing. */
const SHOW_AFTER_MS = 250

export function createForm(page: CampaignsPage) {
  let values = startValues(new Date())
  /** The values that the letter and the notes show. */
  let shown = values
  let faults = NO_FAULTS
  /** The customer that the values belong to. */
  let customer: Customer | undefined
  /** The newest campaigns, to find those with the same utm values. */
  let heads: readonly CampaignHead[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let isShown = false
  /** Customers for which a campaign is being created. */
  const sending = new Set<string>()
  const form = createRef<HTMLFormElement>()
  const faultBox = createRef<HTMLDivElement>()

  function show(watched: Customer) {
    if (customer?.customerId !== watched.customerId) {
      customer = watched
      heads = []
      fill({ ...startValues(new Date()), ...readDraft(watched.customerId) })
    }
    isShown = true
    compare(watched.customerId)
    return () => {
      isShown = false
      clearTimeout(timer)
    }
  }

  /** Clears the form after the operator has signed out. */
  function forget() {
    customer = undefined
    heads = []
    fill(startValues(new Date()))
  }

  function fill(these: Values) {
    values = these
    shown = these
    faults = NO_FAULTS
    page.draw()
  }

  /** Changes a value, and the values that follow it, such as `utm_campaign`, unless the operator has edited those. */
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

  /** The campaign's link as an attribute's value; '' while no customer is watched. */
  const linkIn = (those: Values): string =>
    customer ? attributeOf(linkOf(shopOf(customer).href, toCampaign(those).tracking)) : ''

  /** Updates the campaign's link in the letter after a value of it has changed. */
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

  /** Inserts the link around the selection, or at the cursor. */
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
    if (page.endIfDenied(answer.status, sender)) return
    // The operator has opened another view meanwhile: show the outcome there.
    if (!isAwaited) return page.notify(sender, describeOutcome(answer, campaign.subject.name))
    page.setState(answer.status === 0 ? 'unreachable' : '')
    if (answer.ok) return page.open({ view: 'campaign', id: answer.body.id, bots: false })
    const issues = issuesOf(answer, campaign)
    const otherwise = issues.length === 0 ? describeFailure(answer) : ''
    faults = { issues, otherwise, values }
    page.draw()
    focusFault()
  }

  /** Focuses the first field with a fault, else the summary. */
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
      return 'The contract requires every field on every channel, even those that only e-mail uses.'
    if (path === 'scheduling.send_at') {
      const isLate = isPast(shown['scheduling.date'], shown['scheduling.time'], new Date())
      return isLate ? 'This time is in the past. That is allowed.' : ''
    }
    if (path !== 'tracking.utm_campaign') return ''
    const others = campaignsWithSameUtm(heads, toCampaign(shown).tracking)
    return others.length > 0
      ? `Same utm values as ${quoteNames(others)}: the visits will be counted together.`
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
                Clear the form
              </button>
            </div>
          </form>
          {customer && <Letter campaign={toCampaign(shown)} shop={shopOf(customer)} />}
        </div>
      </>
    )
  }

  /** The buttons next to the label of the HTML field. */
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
        Start with an example
      </button>
    )
  }

  return { View, show, forget }
}

/** The contract's faults. If one address was used for both fields, its faults are shown once. */
function issuesOf({ body }: Refused, { sender }: NewCampaign): readonly Issue[] {
  const issues = body?.issues ?? []
  const isOnce =
    sender.reply_to === sender.sender && issues.some(({ path }) => path === 'sender.sender')
  return isOnce ? issues.filter(({ path }) => path !== 'sender.reply_to') : issues
}

const describeOutcome = ({ ok }: Answered<unknown>, name: string): string =>
  ok
    ? `“${name}” was created.`
    : `“${name || 'The new campaign'}” was not created. Your input is still in the form.`

/** A sentence for a failure that names no field. */
function describeFailure(answer: Refused): string {
  const { status, body } = answer
  if (status === 0)
    return 'The gateway does not answer. Your input is still here, so you can try again. Look at the list first: the campaign may already have been created.'
  if (status === 429 || status === 503)
    return `${body?.message ?? 'The gateway is busy'}. Your input is still here: try again.`
  return describeRefusal(answer)
}
