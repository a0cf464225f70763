import { fieldsOf, namesOf, selectorOf } from './elementNames.ts'
import type { Found } from './guess.ts'
import {
  CHECKOUT_NAME,
  NEWSLETTER,
  PERSON,
  SEARCH_FIELD_NAME,
  SEARCH_NAME,
  UNSUBSCRIBE,
} from './shopWords.ts'

const TEXT_FIELD =
  'input:not([type]),input[type=text],input[type=search],input[type=email],input[type=tel]'

/** A form that is a search, probably. */
export function guessSearch(form: HTMLFormElement): Found | undefined {
  const texts = fieldsOf(form, TEXT_FIELD)
  const field =
    texts.find(({ type }) => type === 'search') ??
    texts.find(({ name }) => SEARCH_FIELD_NAME.test(name)) ??
    (texts.length === 1 ? texts[0] : undefined)
  if (!field || texts.some(({ type }) => type === 'email') || form.querySelector('[type=password]'))
    return
  const isSearch =
    form.getAttribute('role') === 'search' || form.closest('search,[role=search]') !== null
  const why = isSearch
    ? 'a form with the role search'
    : field.type === 'search'
      ? 'a form with a search field'
      : SEARCH_NAME.test(namesOf(form)) || SEARCH_NAME.test(namesOf(field))
        ? 'a form that is named like a search'
        : SEARCH_FIELD_NAME.test(field.name) &&
            form.getAttribute('method')?.toLowerCase() !== 'post' &&
            texts.length === 1
          ? `a form with the field ${field.name}`
          : undefined
  if (!why) return
  const isRead = field.type === 'search' || /^[qs]$/.test(field.name)
  return {
    operation: 'search',
    element: form,
    why,
    attributes: [
      ['data-track', 'search'],
      ...(isRead ? [] : [['data-track-search-term-from', selectorOf(field)] as const]),
    ],
    notes: ['Not needed if the page of the results reports the search.'],
  }
}

/** A search field that is in no form. */
export const guessSearchField = (field: HTMLInputElement): Found => ({
  operation: 'search',
  element: field,
  why: 'a search field without a form',
  attributes: [
    ['data-track', 'search'],
    ['data-track-search-term-from', selectorOf(field)],
  ],
  notes: [
    'Reported when the visitor has changed the field. Not needed if your code reports the search.',
  ],
})

/** A form with an e-mail address: a sign-in, a newsletter or an order. */
export function guessEmail(form: HTMLFormElement): Found | undefined {
  const texts = fieldsOf(form, TEXT_FIELD)
  const email =
    texts.find(({ type }) => type === 'email') ?? texts.find(({ name }) => /mail/i.test(name))
  // A message to the shop is no sign-in and no newsletter.
  if (!email || form.querySelector('textarea')) return
  const words = `${namesOf(form)} ${namesOf(email)} ${form.textContent.slice(0, 2_000)}`
  const isSignIn = form.querySelector('[type=password]') !== null
  const isNewsletter = NEWSLETTER.test(words) && !UNSUBSCRIBE.test(words)
  const isOrder = CHECKOUT_NAME.test(namesOf(form))
  if (!isSignIn && !isNewsletter && !isOrder) return
  const isRead = email.type === 'email' || email.name === 'email'
  const person = PERSON.flatMap(([attribute, name]) => {
    const field = texts.find((one) => one !== email && name.test(one.name))
    return field ? [[`data-track-${attribute}-from`, selectorOf(field)] as const] : []
  })
  return {
    operation: 'setEmail',
    element: form,
    why: isSignIn
      ? 'a form with an e-mail address and a password'
      : isNewsletter
        ? 'a form that looks like a newsletter'
        : 'a form with an e-mail address at the checkout',
    attributes: [
      ['data-track', 'setEmail'],
      ...(isRead ? [] : [['data-track-email-address-from', selectorOf(email)] as const]),
      ...person,
    ],
    notes: [
      'If the page sends the form by itself, add data-track-prevented="count".',
      'Not needed if your code reports the address.',
    ],
  }
}
