import { rmSync } from 'node:fs'
import { test as base } from './fixtures.ts'
import { makeFolder } from './gateway.ts'
import { type OwnChromium, startChromium } from './ownChromium.ts'

/*
 * The whole browser is killed (SIGKILL), over a profile that outlives it.
 *
 * Chromium writes localStorage to its file some 5 s after a page's first write and up to a minute after
 * later ones; what is in memory until then dies with the browser. So an event survives when its first
 * request left (within ms of the call, online) or when it was kept for long enough. What is lost is an
 * event that could not be sent (offline, a failing gateway) and whose browser is killed within that time.
 */
export const test = base.extend<{
  /** Starts a Chromium over the test's own profile, one at a time. */
  startBrowser: () => Promise<OwnChromium>
}>({
  startBrowser: async ({ watch }, use) => {
    const folder = makeFolder('profile')
    const started: OwnChromium[] = []
    await use(async () => {
      const browser = await startChromium(folder)
      started.push(browser)
      watch.add(browser.context)
      return browser
    })
    for (const browser of started) await browser.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  },
})
