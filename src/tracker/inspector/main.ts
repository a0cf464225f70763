import type { InspectorState } from '../debug.ts'
import { guard } from '../lib/guard.ts'
import { readSwitch } from '../lib/readSwitch.ts'
import { createStore } from '../lib/storage.ts'
import { explain } from './explain.ts'
import { findOverwritten } from './findOverwritten.ts'
import { findUnknown } from './findUnknown.ts'
import { startConsole } from './startConsole.ts'
import { SHORTCUT, startPanel } from './startPanel.tsx'
import { watchConsent } from './watchConsent.ts'
import { watchGa4 } from './watchGa4.ts'
import { watchTrackedElements } from './watchTrackedElements.ts'

const print = (text: string) => console.warn(text)
const local = createStore(() => localStorage)

/**
 * Shows what the script does on this page: in a panel over the page, and in the console what was seen and not sent.
 * Called by the script in debug mode (debug.ts).
 *
 * @returns Opens the panel, if the visitor has closed it.
 */
export function start(state: InspectorState): () => void {
  const { helpers, configs, seen } = state
  // A page may have replaced what the panel needs. The console works without it.
  const panel = guard(() => startPanel(state))
  const open = () => panel?.open()
  // Without consent nothing may be read, and the script does not read the switch either.
  const mayRead = helpers.consentState === 'granted'
  if (mayRead && readSwitch('track.ignore', local)) {
    print(explain({ reason: 'ignored' }))
    return open
  }
  startConsole(helpers.on, console, {
    seen,
    watch: (warn) => watchTrackedElements(window, configs, warn),
    found: (notice) => panel?.add(notice),
    hint: panel
      ? `The panel over the page shows every event; ${SHORTCUT} closes and opens it.`
      : 'The panel over the page could not start in this browser, or on this page.',
  })
  const overwritten = findOverwritten(window, state)
  if (overwritten) print(overwritten)
  // Consent is one for the page: a key that asks for it decides for the others, too.
  const all = [...configs.values()]
  const asking = all.find(({ consentTools }) => consentTools) ?? all[0]
  if (asking)
    watchConsent(
      window,
      helpers,
      asking,
      print,
      () => local.get('track.c'),
      (facts) => panel?.showConsent(facts),
    )
  watchGa4(window, configs, print)
  for (const text of findUnknown(window)) print(text)
  return open
}
