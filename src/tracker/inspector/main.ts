import type { TrackApi } from '../global.d.ts'
import { startConsole } from './startConsole.ts'
import { watchGa4 } from './watchGa4.ts'
import { watchMarks } from './watchMarks.ts'

// The second bundle, which the script loads in debug mode only: it says in the console what was seen
// on the page and not sent.
const { track } = window as { readonly track?: TrackApi }
if (track?.on) {
  startConsole(track.on, console, (tell) => watchMarks(window, tell))
  watchGa4(window, (text) => console.warn(text))
}
