import { useState } from 'preact/hooks'
import { Sign } from './signs.tsx'

const CONFIRM_MS = 1600

/** Copies `text`, and shows the outcome as its label for 1.6 seconds. */
export function CopyButton({
  text,
  label,
  test,
}: {
  readonly text: string
  readonly label: string
  readonly test?: string
}) {
  const [outcome, setOutcome] = useState('')

  async function copy() {
    setOutcome((await write(text)) ? 'Copied' : 'Press Ctrl+C')
    setTimeout(() => setOutcome(''), CONFIRM_MS)
  }

  return (
    <button type="button" onClick={copy} data-test={test}>
      <Sign name="copy" />
      <span>{outcome || label}</span>
    </button>
  )
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // The clipboard is missing on plain http, or not allowed. The older way may fail too.
    const area = document.createElement('textarea')
    area.className = 'sr'
    area.value = text
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}
