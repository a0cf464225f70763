/** A campaign's HTML as a picture: in a frame without scripts, links or requests. */
import { h } from '/live/dom.js'
import { stillOf } from './still.js'

/** @returns {HTMLElement & { show: (html: string) => void }} `show` draws anew. */
export function createPreview(/** @type {string} */ title) {
  const place = h('div', { class: 'mail' })
  let shown = ''
  place.show = (/** @type {string} */ html) => {
    // In the next frame: what is filled while it is being unhidden may never be painted (Chromium 156).
    requestAnimationFrame(() => {
      const srcdoc = stillOf(html)
      if (shown === srcdoc) return
      shown = srcdoc
      // A new frame each time: another document in the same one would be an entry of the history.
      place.replaceChildren(h('iframe', { sandbox: '', title, srcdoc, 'data-test': 'preview' }))
    })
  }
  return place
}
