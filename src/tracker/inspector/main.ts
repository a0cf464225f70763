import type { InspectorState } from '../debug.ts'
import { readSwitch } from '../lib/readSwitch.ts'
import { createStore } from '../lib/storage.ts'
import { explain } from './explain.ts'
import { findHelpers } from './findHelpers.ts'
import { findUnknown } from './findUnknown.ts'
import { startConsole } from './startConsole.ts'
import { watchConsent } from './watchConsent.ts'
import { watchGa4 } from './watchGa4.ts'
import { watchTrackedElements } from './watchTrackedElements.ts'

const print = (text: string) => console.warn(text)
const local = createStore(() => localStorage)

/** Lists in the console what was seen on the page and not sent. Called by the script in debug mode (debug.ts). */
export async function start({ helpers }: InspectorState): Promise<void> {
  const found: string[] = []
  await findHelpers(window, (text) => found.push(text))
  // Without consent nothing may be read, and the script does not read the switch either.
  const mayRead = helpers.consentState === 'granted'
  if (mayRead && readSwitch('track.ignore', local, () => location.href))
    return print(explain({ reason: 'ignored' }))
  for (const text of found) print(text)
  startConsole(helpers.on, console, (warn) => watchTrackedElements(window, warn))
  watchConsent(window, helpers, print, () => local.get('track.c'))
  watchGa4(window, print)
  for (const text of findUnknown(window)) print(text)
}
