import { ElementButton } from './elementButton.tsx'
import { type Guess, toHtml } from './guess.ts'

export function UntrackedList({
  guesses,
  isOff,
  look,
  copy,
  outline,
  scrollTo,
}: {
  readonly guesses: readonly Guess[]
  /** Whether every key has attributes off. */
  readonly isOff: boolean
  readonly look: () => void
  readonly copy: (text: string, what: string) => void
  readonly outline: (element: Element | undefined) => void
  readonly scrollTo: (element: Element) => void
}) {
  return (
    <>
      <div class="bar">
        <span class="note">
          Guessed from the page: these look like something to track, and have no attribute.
        </span>
        <button type="button" onClick={look}>
          Look again
        </button>
      </div>
      {isOff && guesses.length > 0 && (
        <p class="empty">
          Attributes are off for this key: they work after npx shoptrail customer set ID --config
          {` '{"attributes":true}'`}.
        </p>
      )}
      {guesses.length === 0 && <p class="empty">Nothing was found that is not tracked.</p>}
      <ol aria-label="Not tracked">
        {guesses.map((guess, index) => {
          const { operation, element, why, count, notes } = guess
          const html = toHtml(guess)
          return (
            <li key={index} class="guess">
              <div class="line">
                <b>{operation}</b>
                <ElementButton element={element} outline={outline} scrollTo={scrollTo} />
                {count > 1 && <span class="note">and {count - 1} more like it</span>}
                <span class="note">{why}</span>
              </div>
              <pre>{html}</pre>
              <div class="line">
                <span class="note">{notes.join(' ')}</span>
                <button type="button" onClick={() => copy(html, 'The attributes')}>
                  Copy
                </button>
              </div>
            </li>
          )
        })}
      </ol>
    </>
  )
}
