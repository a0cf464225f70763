/**
 * The form for a new campaign. It judges nothing: the gateway does, by the contract, and its words are
 * shown at each field. What was typed is kept until the campaign is created, whatever fails.
 */
import { h, sign } from '/live/dom.js'
import { showState } from '/live/operator.js'
import { createCampaign } from './data.js'
import { buildField, putValue } from './field.js'
import { EXAMPLE_HTML, GROUPS } from './fields.js'
import { counted, linkOf, slugOf, startValues, toCampaign } from './model.js'
import { createPreview } from './preview.js'
import { shopOf } from './shop.js'

const SHOW_PREVIEW_MS = 250
/** In the preview before there is any HTML. */
const NOTHING_YET = '<p style="color: #6a7772">The letter appears here as you write its HTML.</p>'
/** Storage of this tab: a draft outlives a reload and a sign-in. */
const draftOf = (customerId) => `campaign.draft.${customerId}`

export function createForm(element, page) {
  /** @type {Record<string, string>} */
  let values = startValues(new Date())
  let customer
  let timer = 0
  let isSending = false

  const groups = GROUPS.map(({ title, hint, fields }) =>
    h(
      'fieldset',
      { class: 'card' },
      h('legend', {}, title),
      ...(hint ? [h('p', { class: 'hint' }, hint)] : []),
      h('div', { class: 'fields' }, ...fields.map((field) => buildField(field, change))),
    ),
  )
  const faults = h('div', { class: 'faults', tabindex: '-1', role: 'alert', 'data-test': 'faults' })
  const send = h(
    'button',
    { type: 'submit', class: 'primary', 'data-test': 'create' },
    'Create campaign',
  )
  const letter = {
    from: h('b'),
    subject: h('p', { class: 'subject' }),
    text: h('p', { class: 'text' }),
    html: createPreview('How the campaign looks'),
    link: h('code', { 'data-test': 'new-link' }),
  }
  const form = h(
    'form',
    { novalidate: '', autocomplete: 'off', onsubmit: submit, 'data-test': 'campaign-form' },
    ...groups,
    h(
      'div',
      { class: 'send' },
      faults,
      send,
      h(
        'button',
        { type: 'button', class: 'text', onclick: startAgain, 'data-test': 'start-again' },
        'Start again',
      ),
    ),
  )
  const example = h(
    'button',
    { type: 'button', class: 'text example', onclick: useExample, 'data-test': 'use-example' },
    'Begin with an example',
  )
  form.querySelector('[data-path="content.html"] .label').append(example)
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
    h(
      'div',
      { class: 'split' },
      form,
      h(
        'aside',
        { class: 'letter card', 'aria-label': 'Preview' },
        h('div', { class: 'envelope' }, letter.from, letter.subject, letter.text),
        letter.html,
        h('div', { class: 'goes' }, h('span', {}, 'Its link'), letter.link),
      ),
    ),
  )

  function show(watched) {
    if (customer?.customerId !== watched.customerId) {
      customer = watched
      values = { ...startValues(new Date()), ...readDraft(customer.customerId) }
      fill()
    }
    element.querySelector('.back').href = page.href({ view: 'list', search: '', type: '', page: 1 })
    return () => clearTimeout(timer)
  }

  function fill() {
    for (const [path, value] of Object.entries(values)) putValue(form, path, value)
    showFaults([])
    drawPreview()
  }

  /** A field has changed; what follows it until it is changed itself follows. */
  function change(path, value) {
    const before = { ...values }
    values[path] = value
    if (path === 'subject.name')
      follow('tracking.utm_campaign', slugOf(before[path]), slugOf(value))
    if (path === 'sender.sender') follow('sender.reply_to', before[path], value)
    if (path === 'type') follow('tracking.utm_medium', before.type, value)
    keepDraft()
    clearTimeout(timer)
    timer = setTimeout(drawPreview, SHOW_PREVIEW_MS)
  }

  function follow(path, was, is) {
    if (values[path] !== was) return
    values[path] = is
    putValue(form, path, is)
  }

  function drawPreview() {
    const { sender, subject, content, tracking } = toCampaign(values)
    letter.from.textContent = sender.name || 'Sender'
    letter.subject.textContent = subject.subject_line || 'Subject line'
    letter.text.textContent = subject.preview_text || 'Preview text'
    const isBlank = !content.html.trim()
    example.hidden = !isBlank
    letter.html.show(isBlank ? NOTHING_YET : content.html)
    letter.link.textContent = linkOf(shopOf(customer).href, tracking)
  }

  function useExample() {
    if (values['content.html'].trim()) return
    putValue(form, 'content.html', EXAMPLE_HTML)
    change('content.html', EXAMPLE_HTML)
    form.querySelector('textarea').focus()
  }

  function startAgain() {
    dropDraft(customer.customerId)
    values = startValues(new Date())
    fill()
    form.elements[1].focus()
  }

  async function submit(event) {
    event.preventDefault()
    if (isSending) return
    const { customerId } = customer
    isSending = true
    send.disabled = true
    const answer = await createCampaign(customerId, toCampaign(values))
    isSending = false
    send.disabled = false
    showState(answer.status === 0 ? 'unreachable' : '')
    if (page.ends(answer.status)) return
    if (answer.ok) {
      dropDraft(customerId)
      customer = undefined
      return page.open({ view: 'campaign', id: answer.body.id })
    }
    showFaults(answer.body?.issues ?? [], textOf(answer))
  }

  /** Each fault at its field, a sentence on them all, and the focus on the first. */
  function showFaults(issues, otherwise = '') {
    const left = new Set(issues)
    let first
    for (const box of form.querySelectorAll('[data-path]')) {
      const own = issues.filter(({ path }) => path === box.dataset.path)
      for (const issue of own) left.delete(issue)
      box.querySelector('.wrong').textContent = own.map(({ message }) => message).join(' ')
      markInvalid(box, own.length > 0)
      if (own.length > 0) first ??= box
    }
    const found = issues.length - left.size
    faults.replaceChildren(
      ...(found
        ? [
            h(
              'p',
              {},
              `${counted(found, 'field')} ${found === 1 ? 'needs' : 'need'} another look. Nothing was created.`,
            ),
          ]
        : []),
      ...[...left].map(({ path, message }) => h('p', {}, path ? `${path}: ${message}` : message)),
      ...(issues.length === 0 && otherwise ? [h('p', {}, otherwise)] : []),
    )
    if (first) (first.querySelector(':checked') ?? first.querySelector('input, textarea')).focus()
    else if (faults.firstChild) faults.focus()
  }

  const keepDraft = () =>
    atStorage((storage) => storage.setItem(draftOf(customer.customerId), JSON.stringify(values)))
  const dropDraft = (customerId) => atStorage((storage) => storage.removeItem(draftOf(customerId)))
  const readDraft = (customerId) =>
    atStorage((storage) => JSON.parse(storage.getItem(draftOf(customerId)) ?? '{}'))

  return { element, show }
}

function markInvalid(/** @type {Element} */ box, /** @type {boolean} */ isWrong) {
  box.classList.toggle('is-wrong', isWrong)
  for (const control of box.querySelectorAll('input, textarea'))
    if (isWrong) control.setAttribute('aria-invalid', 'true')
    else control.removeAttribute('aria-invalid')
}

/** A draft that can not be kept (storage off, or full) is still in the form. */
function atStorage(act) {
  try {
    return act(sessionStorage)
  } catch {
    return undefined
  }
}

/** What to say of an answer that names no field. */
function textOf({ status, body }) {
  if (status === 0)
    return 'The gateway does not answer. What you typed is still here: try again when it does. If it went away just now, look at the list first: the campaign may be there.'
  if (status === 503)
    return `${body?.message ?? 'The gateway is busy'}. What you typed is still here: try again.`
  return body?.message ?? `That did not work (${status}).`
}
