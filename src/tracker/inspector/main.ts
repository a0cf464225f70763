import { readSwitch } from '../lib/readSwitch.ts'
import { createStore } from '../lib/storage.ts'
import { explain } from './explain.ts'
import { findHelpers } from './findHelpers.ts'
import { findUnknown } from './findUnknown.ts'
import { startConsole } from './startConsole.ts'
import { watchGa4 } from './watchGa4.ts'
import { watchTrackedElements } from './watchTrackedElements.ts'

// A separate script, loaded in debug mode: it lists in the console what was seen on the page and not sent.
const print = (text: string) => console.warn(text)
const local = createStore(() => localStorage)
if (readSwitch('track.ignore', local)) print(explain({ reason: 'ignored' }))
else {
  findHelpers(window, print).then((helpers) => {
    if (helpers) startConsole(helpers.on, console, (warn) => watchTrackedElements(window, warn))
  })
  watchGa4(window, print)
  for (const text of findUnknown(window)) print(text)
}
