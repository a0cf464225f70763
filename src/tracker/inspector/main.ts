import type { TrackApi } from '../global.d.ts'
import { startConsole } from './startConsole.ts'

// The second bundle, which the script loads in debug mode only: it says in the console what was seen
// on the page and not sent.
const { track } = window as { readonly track?: TrackApi }
if (track?.on) startConsole((listener) => track.on('dropped', listener), console)
