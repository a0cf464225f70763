import { useLayoutEffect, useState } from 'preact/hooks'
import { sanitizePreview } from './sanitizePreview.ts'

/**
 * A campaign's HTML as a picture: in a frame without scripts, links or requests.
 *
 * @param height Room for it, px; without one what the page's style says.
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
    // In the next frame: a frame that is filled while it is being unhidden may never be painted (Chromium 156).
    const frame = requestAnimationFrame(() => setSrcdoc(sanitizePreview(html)))
    return () => cancelAnimationFrame(frame)
  }, [html])

  return (
    <div class="mail" style={height === undefined ? undefined : { '--room': `${height}px` }}>
      {/* A new frame each time: another document in the same one would be an entry of the history. */}
      {srcdoc && (
        <iframe key={srcdoc} sandbox="" title={title} srcdoc={srcdoc} data-test="preview" />
      )}
    </div>
  )
}
