/** Builds elements. Text goes in as text, never as HTML, since events come from strangers' pages. */

const SVG = 'http://www.w3.org/2000/svg'

export const $ = (/** @type {string} */ selector) => document.querySelector(selector)

/** `attributes.on…` is a listener, `false` and `undefined` leave an attribute out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (value !== false && value !== undefined) element.setAttribute(name, value)
  }
  element.append(...children)
  return element
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes))
    if (value !== false && value !== undefined) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** One of the page's own signs, coloured by its kind where it has one. */
export function sign(/** @type {string} */ id, /** @type {string} */ kind) {
  const attributes = { class: 'sign', 'aria-hidden': 'true', 'data-kind': kind || undefined }
  return svg('svg', attributes, svg('use', { href: `#${id}` }))
}

/** The dot of a device. Its hue is set through the CSSOM, which a strict style-src allows. */
export function dot(hue) {
  const element = h('i', { class: 'dot' })
  element.style.setProperty('--hue', String(hue))
  return element
}

/** Copies text and says so on the button for a moment. */
export async function copy(/** @type {string} */ text, /** @type {HTMLElement} */ button) {
  const label = button.querySelector('span')
  const said = label.dataset.label ?? label.textContent
  label.dataset.label = said
  label.textContent = (await write(text)) ? 'Copied' : 'Press Ctrl+C'
  setTimeout(() => {
    label.textContent = said
  }, 1600)
}

async function write(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // No clipboard on plain http, or not allowed: the old way, then the visitor's own hands.
    const area = h('textarea', { class: 'sr' })
    area.value = text
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
