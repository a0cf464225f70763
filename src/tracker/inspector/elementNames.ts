/** The fields of a form, or of another element. */
export const fieldsOf = (form: Element, selector: string): HTMLInputElement[] => [
  ...form.querySelectorAll<HTMLInputElement>(selector),
]

/** The name, the id and the other words that a developer has chosen for an element. */
export const namesOf = (element: Element): string =>
  [
    'id',
    'class',
    'name',
    'action',
    'formaction',
    'href',
    'data-action',
    'data-button-action',
    'data-role',
    'data-test',
  ]
    .map((name) => element.getAttribute(name) ?? '')
    .join(' ')

/** A selector for a field within its form. */
export const selectorOf = ({ name, id, type }: HTMLInputElement): string =>
  /^[\w-]+$/.test(name)
    ? `[name=${name}]`
    : name
      ? `[name='${name.replace(/['\\]/g, '\\$&')}']`
      : /^[\w-]+$/.test(id)
        ? `#${id}`
        : `[type=${type}]`
