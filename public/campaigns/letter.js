/** A new campaign as its readers would see it, beside the form, and the link that belongs into it. */
import { h } from '/live/dom.js'
import { linkOf, UTM } from './model.js'
import { createPreview } from './preview.js'

/** In the preview before there is any HTML. */
const NOTHING_YET = '<p style="color: #6a7772">The letter appears here as you write its HTML.</p>'

export function createLetter() {
  const from = h('b')
  const line = h('p', { class: 'subject' })
  const text = h('p', { class: 'text' })
  const html = createPreview('How the campaign looks')
  const link = h('div', { class: 'goes' })
  const element = h(
    'aside',
    { class: 'letter card', 'aria-label': 'Preview' },
    h('div', { class: 'envelope' }, from, line, text),
    html,
    link,
  )

  return {
    element,
    /** @param {ReturnType<import('./shop.js').shopOf> | undefined} shop Nobody's: nothing leads there. */
    draw({ type, sender, subject, content, tracking }, shop) {
      from.textContent = sender.name || 'Sender'
      line.textContent = subject.subject_line || (type === 'email' ? 'Subject line' : 'Title')
      text.textContent = subject.preview_text || 'Preview text'
      html.show(content.html.trim() ? content.html : NOTHING_YET)
      const isWhole = shop && UTM.every((name) => tracking[name])
      link.replaceChildren(
        h('span', {}, 'Its link'),
        isWhole
          ? h('code', { 'data-test': 'new-link' }, linkOf(shop.href, tracking))
          : h('span', { 'data-test': 'no-link' }, 'comes when all three utm values are there.'),
        ...(isWhole && !shop.isKnown
          ? [h('span', {}, 'Put your shop’s address in front of the question mark.')]
          : []),
      )
    },
  }
}
