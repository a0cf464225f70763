import { CopyButton } from '../operator/copyButton.tsx'

/** A line to paste, with a button that copies it. */
export function Paste({
  text,
  isLong = false,
  test,
}: {
  readonly text: string
  /** Whether it scrolls in a few lines: nobody reads it. */
  readonly isLong?: boolean
  readonly test?: string
}) {
  return (
    <div class={isLong ? 'paste long' : 'paste'}>
      <code data-test={test}>{text}</code>
      <CopyButton text={text} label="Copy" />
    </div>
  )
}

/** A line of a finding: a sentence, or something to paste. */
export const Line = ({ text }: { readonly text: string }) =>
  isSentence(text) ? <p>{text}</p> : <Paste text={text} />

export const isSentence = (text: string): boolean => /^[A-Z][^<]*[.:]$/.test(text)
