/** Puts things on the page. Text goes in as text, never as HTML. */

const SVG = 'http://www.w3.org/2000/svg'

/**
 * Replaces what `parent` holds. A node is `[tag, attributes, ...children]`, text or an element; an
 * attribute that begins with `on` is a listener.
 */
export function render(/** @type {ParentNode} */ parent, nodes) {
  parent.replaceChildren(...nodes.map(build))
  return [...parent.children]
}

function build(node) {
  if (!Array.isArray(node)) return node
  const [tag, attributes, ...children] = node
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value)
  element.append(...children.map(build))
  return element
}

/** A product's drawing in the glaze of a variation, or a sign of the shop by its name. */
export function picture(what, variation) {
  const svg = document.createElementNS(SVG, 'svg')
  const use = document.createElementNS(SVG, 'use')
  if (variation) {
    svg.setAttribute('viewBox', '0 0 240 210')
    svg.setAttribute('role', 'img')
    svg.setAttribute('aria-label', `${what.name}, ${variation.name}`)
    svg.style.setProperty('--glaze', variation.glaze)
    use.setAttribute('href', `img/${what.art}.svg#art`)
  } else {
    svg.setAttribute('viewBox', '0 0 24 24')
    svg.setAttribute('aria-hidden', 'true')
    use.setAttribute('href', `img/signs.svg#${what}`)
  }
  svg.append(use)
  return svg
}

let hiding = 0

/** Says `text` for five seconds, with a link. */
export function toast(
  /** @type {string} */ text,
  /** @type {{href: string, text: string}} */ link,
) {
  const box = document.querySelector('.toast')
  render(box, [text, ['a', { href: link.href, 'data-test': 'toast-link' }, link.text]])
  box.hidden = false
  clearTimeout(hiding)
  hiding = setTimeout(() => {
    box.hidden = true
  }, 5000)
}
