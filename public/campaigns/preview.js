/** A campaign's HTML as a picture: in a frame without scripts, links or requests. */
import { h } from '/live/dom.js'
import { stillOf } from './still.js'

/** @returns {HTMLIFrameElement & { show: (html: string) => void }} `show` draws anew. */
export function createPreview(/** @type {string} */ title) {
  const frame = h('iframe', { sandbox: '', title, class: 'mail', 'data-test': 'preview' })
  frame.show = (/** @type {string} */ html) => {
    // In the next frame: what is filled while it is being unhidden may never be painted (Chromium 156).
    requestAnimationFrame(() => {
      const srcdoc = stillOf(html)
      if (frame.srcdoc !== srcdoc) frame.srcdoc = srcdoc
    })
  }
  return frame
}
