import { rmSync } from 'node:fs'
import { test as base } from './fixtures.ts'
import { makeFolder } from './gateway.ts'
import { type OwnChromium, startChromium } from './ownChromium.ts'

/*
 * Tests that kill the whole browser (SIGKILL) and start it again with the same profile.
 *
 * Chromium writes localStorage to disk some 5 s after a page's first change and up to a minute after later ones; until
 * then a change is only in memory and ends with the browser. So an event survives if its first request has left (within
 * ms of the call, online) or if it was written. It is lost if it could not be sent (offline, a failing gateway) and the
 * browser is killed before it was written.
 */
export const test = base.extend<{
  /** Starts a Chromium with the test's profile. Only one may run at a time. */
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
