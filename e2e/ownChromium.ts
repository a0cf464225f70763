import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type BrowserContext, chromium } from '@playwright/test'
import { findBrowsers, QUIET_CHROMIUM } from './browsers.mjs'

/** A Chromium with a lasting profile, in processes that the test can kill. */
export type OwnChromium = {
  readonly context: BrowserContext
  /** Sends SIGKILL to all of its processes at once, like a crash. A second call does nothing. */
  kill(): Promise<void>
}

export async function startChromium(profile: string): Promise<OwnChromium> {
  const child = spawn(
    (await findBrowsers()).chromium ?? 'chromium',
    [
      '--headless=new',
      '--no-sandbox',
      ...QUIET_CHROMIUM,
      // On a busy machine, the driver's connection may wait for ever for a page that is just opening.
      '--no-startup-window',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
    ],
    // In its own process group, so that its child processes are killed too.
    { detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const ended = once(child, 'exit')
  const address = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const found = /^DevTools listening on (ws:.+)/.exec(line)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error('Chromium ended')))
  })
  const browser = await chromium.connectOverCDP(await address, { timeout: 120_000 })
  return {
    context: browser.contexts()[0] as BrowserContext,
    async kill() {
      if (child.exitCode === null && child.signalCode === null)
        process.kill(-(child.pid as number), 'SIGKILL')
      await ended
      await browser.close()
    },
  }
}
