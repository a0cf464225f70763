/**
 * The form for a new campaign. It judges nothing: the gateway does, by the contract, and its words are
 * shown at each field. What was typed is kept until the campaign is created, whatever fails.
 */
import { h, sign } from '/live/dom.js'
import { dropDraft, keepDraft, readDraft } from '/live/drafts.js'
import { showState } from '/live/operator.js'
import { createCampaign, loadNewest } from './data.js'
import { createFaults } from './faults.js'
import { buildField, nameFields, putNote, putValue } from './field.js'
import { exampleOf, GROUPS } from './fields.js'
import { createLetter } from './letter.js'
import {
  attributeOf,
  isPast,
  linkOf,
  namesakes,
  quoteNames,
  slugOf,
  startValues,
  toCampaign,
} from './model.js'
import { shopOf } from './shop.js'

const SHOW_PREVIEW_MS = 250

export function createForm(element, page) {
  /** @type {Record<string, string>} */
  let values = startValues(new Date())
  /** @type {import('/live/operator.js').Customer | undefined} Whose values these are. */
  let customer
  /** Campaigns that there are, to tell whose utm values are taken. */
  let heads = []
  let timer = 0
  let isShown = false
  /** Customers of which a campaign is on its way. */
  const sending = new Set()

  const groups = GROUPS.map(({ title, hint, fields }) =>
    h(
      'fieldset',
      { class: 'card' },
      h('legend', {}, title),
      ...(hint ? [h('p', { class: 'hint' }, hint)] : []),
      h('div', { class: 'fields' }, ...fields.map((field) => buildField(field, change))),
    ),
  )
  const send = h('button', { type: 'submit', class: 'primary', 'data-test': 'create' })
  const form = h(
    'form',
    { novalidate: '', autocomplete: 'off', onsubmit: submit, 'data-test': 'campaign-form' },
    ...groups,
  )
  const faults = createFaults(form)
  form.append(
    h(
      'div',
      { class: 'send' },
      faults.element,
      send,
      h(
        'button',
        { type: 'button', class: 'text', onclick: startAgain, 'data-test': 'start-again' },
        'Start again',
      ),
    ),
  )
  const html = form.querySelector('textarea')
  const textButton = (test, onclick, text) =>
    h('button', { type: 'button', class: 'text example', onclick, 'data-test': test }, text)
  const example = textButton('use-example', useExample, 'Begin with an example')
  const inserting = textButton('insert-link', insertLink, 'Insert the campaign’s link')
  form.querySelector('[data-path="content.html"] .label').append(example, inserting)
  const letter = createLetter()
  element.append(
    h(
      'div',
      { class: 'head' },
      h(
        'a',
        { class: 'back', href: '/campaigns/', 'data-place': '', 'data-test': 'back' },
        sign('s-back'),
        'Campaigns',
      ),
      h('h2', { tabindex: '-1' }, 'New campaign'),
    ),
    h('div', { class: 'split' }, form, letter.element),
  )

  function show(watched) {
    if (customer?.customerId !== watched.customerId) {
      customer = watched
      heads = []
      values = { ...startValues(new Date()), ...readDraft(customer.customerId) }
      fill()
    }
    isShown = true
    drawSend()
    compare(customer.customerId)
    element.querySelector('.back').href = page.href({ view: 'list', search: '', type: '', page: 1 })
    return () => {
      isShown = false
      clearTimeout(timer)
    }
  }

  /** Lets go of what was typed: the operator has signed out. */
  function forget() {
    customer = undefined
    heads = []
    values = startValues(new Date())
    fill()
  }

  function fill() {
    for (const [path, value] of Object.entries(values)) putValue(form, path, value)
    faults.show([])
    draw()
  }

  /** A field has changed; what follows it until it is changed itself follows. */
  function change(path, value) {
    const before = { ...values }
    values[path] = value
    if (path === 'subject.name')
      follow('tracking.utm_campaign', slugOf(before[path]), slugOf(value))
    if (path === 'sender.sender') follow('sender.reply_to', before[path], value)
    if (path === 'type') follow('tracking.utm_medium', before.type, value)
    followLink(linkIn(before))
    faults.forgive(Object.keys(values).filter((one) => values[one] !== before[one]))
    keepDraft(customer.customerId, values)
    clearTimeout(timer)
    timer = setTimeout(draw, SHOW_PREVIEW_MS)
  }

  function follow(path, was, is) {
    if (values[path] === was) put(path, is)
  }

  function put(path, value) {
    values[path] = value
    putValue(form, path, value)
  }

  /** The campaign's link as it stands in a letter with these values. */
  const linkIn = (those) => attributeOf(linkOf(shopOf(customer).href, toCampaign(those).tracking))

  /** The campaign's own link in the letter stays its own. */
  function followLink(was) {
    const is = linkIn(values)
    const written = values['content.html']
    if (was !== is && written.includes(was)) put('content.html', written.split(was).join(is))
  }

  function draw() {
    const campaign = toCampaign(values)
    const { type, tracking } = campaign
    const isBlank = !campaign.content.html.trim()
    example.hidden = !isBlank
    inserting.hidden = isBlank
    nameFields(form, type)
    putNote(
      form,
      'type',
      type === 'email'
        ? ''
        : 'The contract asks for every field on every channel, also for those that only e-mail has.',
    )
    const isLate = isPast(values['scheduling.date'], values['scheduling.time'], new Date())
    putNote(form, 'scheduling.send_at', isLate ? 'This is in the past. It may be.' : '')
    const others = namesakes(heads, tracking)
    putNote(
      form,
      'tracking.utm_campaign',
      others.length > 0
        ? `All three are also the values of ${quoteNames(others)}: visits could not be told apart.`
        : '',
    )
    letter.draw(campaign, customer && shopOf(customer))
  }

  async function compare(customerId) {
    const answer = await loadNewest(customerId)
    if (customer?.customerId !== customerId || !answer.ok) return
    heads = answer.body.data
    draw()
  }

  function useExample() {
    if (values['content.html'].trim()) return
    write(exampleOf(linkIn(values)))
  }

  /** Around what is selected, or where the cursor is. */
  function insertLink() {
    const { selectionStart, selectionEnd, value } = html
    const text = value.slice(selectionStart, selectionEnd) || 'See it in the shop'
    html.setRangeText(`<a href=${linkIn(values)}>${text}</a>`, selectionStart, selectionEnd, 'end')
    write(html.value)
  }

  function write(text) {
    putValue(form, 'content.html', text)
    change('content.html', text)
    html.focus()
  }

  function startAgain() {
    dropDraft(customer.customerId)
    values = startValues(new Date())
    fill()
    form.elements[1].focus()
  }

  async function submit(event) {
    event.preventDefault()
    const sender = customer
    const { customerId } = sender
    if (sending.has(customerId)) return
    const campaign = toCampaign(values)
    sending.add(customerId)
    drawSend()
    const answer = await createCampaign(customerId, campaign)
    sending.delete(customerId)
    drawSend()
    const isOurs = customer?.customerId === customerId
    const isAwaited = isShown && isOurs
    if (answer.ok) {
      dropDraft(customerId)
      if (isOurs) customer = undefined
    }
    if (page.ends(answer.status, sender)) return
    // Whoever has gone elsewhere meanwhile stays there.
    if (!isAwaited) return page.tell(sender, told(answer.ok, campaign.subject.name))
    showState(answer.status === 0 ? 'unreachable' : '')
    if (answer.ok) return page.open({ view: 'campaign', id: answer.body.id })
    faults.show(issuesOf(answer, campaign), values, textOf(answer))
  }

  function drawSend() {
    const isBusy = sending.has(customer?.customerId)
    send.disabled = isBusy
    send.textContent = isBusy ? 'Creating…' : 'Create campaign'
  }

  return { element, show, forget }
}

/** What is wrong by the contract; of one address that stands for both, once. */
function issuesOf({ body }, { sender }) {
  const issues = body?.issues ?? []
  const isOnce =
    sender.reply_to === sender.sender && issues.some(({ path }) => path === 'sender.sender')
  return isOnce ? issues.filter(({ path }) => path !== 'sender.reply_to') : issues
}

const told = (isCreated, name) =>
  isCreated
    ? `“${name}” was created.`
    : `“${name || 'The new campaign'}” was not created. What you typed is still in its form.`

/** What to say of an answer that names no field. */
function textOf({ status, body }) {
  if (status === 0)
    return 'The gateway does not answer. What you typed is still here: try again when it does. If it went away just now, look at the list first: the campaign may be there.'
  if (status === 429 || status === 503)
    return `${body?.message ?? 'The gateway is busy'}. What you typed is still here: try again.`
  return body?.message ?? `That did not work (${status}).`
}
