import { $, fill } from './page.ts'

const SHOWN_MS = 5000

let hiding: ReturnType<typeof setTimeout> | undefined

/** Shows `text` for five seconds, with a link. */
export function toast(text: string, link: { readonly href: string; readonly text: string }): void {
  fill(
    '.toast',
    <>
      {text}
      <a href={link.href} data-test="toast-link">
        {link.text}
      </a>
    </>,
  )
  $('.toast').hidden = false
  clearTimeout(hiding)
  hiding = setTimeout(() => {
    $('.toast').hidden = true
  }, SHOWN_MS)
}
