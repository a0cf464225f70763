/**
 * One field of the form: its label, its control or controls, a hint, and room for a note and for what is
 * wrong with it.
 */
import { h, sign } from '/live/dom.js'
import { FIELDS, wordsOf } from './fields.js'

const idOf = (/** @type {string} */ path) => `f-${path.replace('.', '-')}`

/**
 * @param {import('./fields.js').Field} field
 * @param {(path: string, value: string) => void} onChange Told of each change; of a moment as `….date` and `….time`.
 */
export function buildField(field, onChange) {
  const { path, label, hint, is, wide } = field
  const id = idOf(path)
  const describedBy = [hint && `${id}-hint`, `${id}-note`, `${id}-wrong`].filter(Boolean).join(' ')
  const told = (name) => (event) => onChange(name, event.target.value)
  const below = [
    ...(hint ? [h('p', { class: 'hint', id: `${id}-hint` }, hint)] : []),
    h('p', { class: 'hint note', id: `${id}-note`, 'data-test': `note-${path}` }),
    h(
      'p',
      { class: 'wrong', id: `${id}-wrong` },
      h('b', { 'data-test': `own-${path}` }),
      ' ',
      h('span', { 'data-test': `wrong-${path}` }),
    ),
  ]
  const attributes = { class: `field ${wide ? 'wide' : ''} is-${is}`, 'data-path': path }
  const several = is === 'choice' || is === 'switch' || is === 'moment'
  if (!several) {
    const control = h(is === 'html' ? 'textarea' : 'input', {
      id,
      name: path,
      ...(is === 'html'
        ? { rows: '12', wrap: 'off', spellcheck: 'false' }
        : // Not `email`: the browser would trim and judge; the contract does.
          { type: 'text', inputmode: is === 'email' ? 'email' : undefined }),
      placeholder: field.placeholder,
      'aria-describedby': describedBy,
      'data-test': path,
      oninput: told(path),
    })
    return h(
      'div',
      attributes,
      h('div', { class: 'label' }, h('label', { for: id }, label)),
      control,
      ...below,
    )
  }
  const controls =
    is === 'moment' ? moment() : h('div', { class: 'segments' }, ...field.options.map(option))
  return h(
    'div',
    { ...attributes, role: 'group', 'aria-labelledby': `${id}-label` },
    h('div', { class: 'label' }, h('span', { id: `${id}-label` }, label)),
    controls,
    ...below,
  )

  function option([value, name, signId]) {
    const radio = h('input', {
      type: 'radio',
      name: path,
      value,
      'aria-describedby': describedBy,
      'data-test': `${path}=${value}`,
      onchange: told(path),
    })
    return h('label', {}, radio, ...(signId ? [sign(signId)] : []), h('span', {}, name))
  }

  function moment() {
    const part = (type, name, what) =>
      h('input', {
        type,
        name,
        'aria-label': what,
        'aria-describedby': describedBy,
        'data-test': name,
        oninput: told(name),
      })
    return h(
      'div',
      { class: 'moment' },
      part('date', 'scheduling.date', 'Day'),
      part('time', 'scheduling.time', 'Time'),
    )
  }
}

/** Puts a value into its control or controls. */
export function putValue(
  /** @type {HTMLFormElement} */ form,
  /** @type {string} */ path,
  /** @type {string} */ value,
) {
  for (const control of form.querySelectorAll(`[name="${path}"]`))
    if (control.type === 'radio') control.checked = control.value === value
    else if (control.value !== value) control.value = value
}

const boxOf = (form, path) => form.querySelector(`[data-path="${path}"]`)

/** Calls each field what it is on a channel. */
export function nameFields(/** @type {HTMLFormElement} */ form, /** @type {string} */ type) {
  for (const [path, field] of FIELDS) {
    const box = boxOf(form, path)
    const { label, hint } = wordsOf(field, type)
    box.querySelector('.label').firstChild.textContent = label
    if (hint) box.querySelector('.hint').textContent = hint
  }
}

/** What the form itself has to say of a value, which may be right; '' for nothing. */
export function putNote(
  /** @type {HTMLFormElement} */ form,
  /** @type {string} */ path,
  /** @type {string} */ text,
) {
  const note = boxOf(form, path).querySelector('.note')
  if (note.textContent !== text) note.textContent = text
}

/** What is wrong with a field: what the form knows of it, and the contract’s words; '' where nothing is. */
export function putWrong(
  /** @type {Element} */ box,
  /** @type {string} */ own,
  /** @type {string} */ message,
) {
  const [ownPlace, place] = box.querySelector('.wrong').children
  ownPlace.textContent = own
  place.textContent = message
  box.classList.toggle('is-wrong', message !== '')
  for (const control of box.querySelectorAll('input, textarea'))
    if (message) control.setAttribute('aria-invalid', 'true')
    else control.removeAttribute('aria-invalid')
}
