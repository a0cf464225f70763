import type { ComponentChildren } from 'preact'

/** Colours the keys, texts and numbers of indented JSON. */
export function paint(json: string): ComponentChildren {
  const parts = json.split(/("(?:[^"\\]|\\.)*"(?:\s*:)?|-?\d[\d.eE+-]*|true|false|null)/)
  return parts.map((part, index) => {
    if (index % 2 === 0) return part
    if (part.endsWith(':')) return <span class="key">{part}</span>
    return <span class={part.startsWith('"') ? 'string' : 'number'}>{part}</span>
  })
}
