/** What is wrong with the form: each fault at its field, and a sentence on them all. */
import { h } from '/live/dom.js'
import { putWrong } from './field.js'
import { FIELDS, wordsOf } from './fields.js'
import { counted, missingOf } from './model.js'

/** A moment is one field of the contract and two of the form. */
const fieldOf = (/** @type {string} */ path) =>
  path.replace(/^scheduling\.(?:date|time)$/, 'scheduling.send_at')

export function createFaults(/** @type {HTMLFormElement} */ form) {
  const element = h('div', {
    class: 'faults',
    tabindex: '-1',
    role: 'alert',
    'data-test': 'faults',
  })
  /** @type {{ path: string, message: string }[]} */
  let issues = []
  let otherwise = ''
  let values = {}

  /** @returns {Element | undefined} The first field with a fault. */
  function draw() {
    const left = new Set(issues)
    const names = []
    let first
    for (const box of form.querySelectorAll('[data-path]')) {
      const { path } = box.dataset
      const own = issues.filter((issue) => issue.path === path)
      for (const issue of own) left.delete(issue)
      const message = own.map((issue) => issue.message).join(' ')
      putWrong(box, message && knownOf(path), message)
      if (!message) continue
      names.push(wordsOf(FIELDS.get(path), values.type).label)
      first ??= box
    }
    const needs = names.length === 1 ? 'needs' : 'need'
    element.replaceChildren(
      ...(names.length > 0
        ? [
            h(
              'p',
              {},
              `${counted(names.length, 'field')} ${needs} another look. Nothing was created.`,
            ),
            h('p', { class: 'which' }, names.join(' · ')),
          ]
        : []),
      ...[...left].map(({ path, message }) => h('p', {}, path ? `${path}: ${message}` : message)),
      ...(otherwise ? [h('p', {}, otherwise)] : []),
    )
    return first
  }

  /** What the form knows of a field that the contract refused. */
  function knownOf(path) {
    if (path === 'scheduling.send_at')
      return missingOf(values['scheduling.date'], values['scheduling.time'])
    return values[path]?.trim() === '' ? 'Still empty.' : ''
  }

  return {
    element,
    /** Shows these, or a sentence where there are none; the focus goes to the first. */
    show(found, ofValues = {}, text = '') {
      issues = found
      otherwise = found.length === 0 ? text : ''
      values = { ...ofValues }
      const first = draw()
      if (first) (first.querySelector(':checked') ?? first.querySelector('input, textarea')).focus()
      else if (element.firstChild) element.focus()
    },
    /** These have changed: whether they are right is seen at the next try. */
    forgive(paths) {
      const changed = new Set(paths.map(fieldOf))
      const left = issues.filter(({ path }) => !changed.has(path))
      if (left.length === issues.length) return
      issues = left
      draw()
    },
  }
}
