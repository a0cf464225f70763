import { useLayoutEffect, useState } from 'preact/hooks'
import { sanitizePreview } from './sanitizePreview.ts'

/**
 * A preview of a campaign's HTML: in an iframe without scripts, links or requests.
 *
 * @param height Height of the iframe, px. Default: that of the style sheet.
 */
export function Preview({
  html,
  title,
  height,
}: {
  readonly html: string
  readonly title: string
  readonly height?: number
}) {
  const [srcdoc, setSrcdoc] = useState('')

  useLayoutEffect(() => {
    // In the next animation frame: Chromium 156 may never paint an iframe that is filled while it is being unhidden.
    const frame = requestAnimationFrame(() => setSrcdoc(sanitizePreview(html)))
    return () => cancelAnimationFrame(frame)
  }, [html])

  return (
    <div class="mail" style={height === undefined ? undefined : { '--room': `${height}px` }}>
      {/* A new iframe each time: another document in the same iframe would add an entry to the history. */}
      {srcdoc && (
        <iframe key={srcdoc} sandbox="" title={title} srcdoc={srcdoc} data-test="preview" />
      )}
    </div>
  )
}
