import { expect, test } from 'vitest'
import { html } from './html.ts'

test('a piece has the indentation of its line, and each piece of a list has its own line', () => {
  const items = ['a', 'b'].map(
    (name) => html`
      <li>
        ${name}
      </li>
    `,
  )
  const list = html`
    <ul>
      ${items}
    </ul>
  `
  expect(html`<main>${list}</main>`.text).toBe(
    `<main><ul>
  <li>
    a
  </li>
  <li>
    b
  </li>
</ul></main>`,
  )
})

test('false and undefined leave no empty line', () => {
  const hint = html`
    <p>
      ${false}
      ${undefined}
    </p>${false}
  `
  expect(hint.text).toBe('<p>\n</p>')
})

test('text is escaped, also in an attribute', () => {
  expect(html`<i title="${'"<&>'}">${'a < b'}</i>`.text).toBe(
    '<i title="&quot;&lt;&amp;&gt;">a &lt; b</i>',
  )
})
