import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type BrowserContext, chromium } from '@playwright/test'
import { findBrowsers, QUIET_CHROMIUM } from './browsers.mjs'

/** A Chromium over a profile that outlives it, in processes of our own, so that they can be killed. */
export type OwnChromium = {
  readonly context: BrowserContext
  /** SIGKILL to all of its processes at once, as a crash or the system's memory killer does. Once is enough. */
  kill(): Promise<void>
}

export async function startChromium(profile: string): Promise<OwnChromium> {
  const child = spawn(
    (await findBrowsers()).chromium ?? 'chromium',
    [
      '--headless=new',
      '--no-sandbox',
      ...QUIET_CHROMIUM,
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
    ],
    // A group of its own: its helpers are killed with it.
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
