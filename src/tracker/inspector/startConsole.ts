import type { TrackNotice } from '../global.d.ts'
import { explain } from './explain.ts'

/**
 * Prints each thing that was seen and not sent, once per code and event name: a page that makes one
 * mistake a hundred times is told once.
 *
 * @param onDropped Adds a listener to `track.on('dropped')`, and answers its undo.
 * @param out Where to print; its `warn` is called, and with it the notice, so that it can be unfolded.
 * @returns Stops it.
 */
export function startConsole(
  onDropped: (listener: (notice: TrackNotice) => void) => () => void,
  out: Pick<Console, 'warn'>,
): () => void {
  const said = new Set<string>()
  return onDropped((notice) => {
    const { operation, code, reason, error } = notice
    const fields = error?.issues.map(({ path }) => path)
    const name = `${[operation, code ?? reason, fields]}`
    if (said.has(name)) return
    said.add(name)
    out.warn(explain(notice), notice)
  })
}
