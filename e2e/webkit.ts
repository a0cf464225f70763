import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Readable } from 'node:stream'
import type { WebKit } from './browsers.mjs'

/** A window of WebKitGTK. */
export type WebKitPage = {
  /** Resolves when the page has loaded. */
  goto(url: string): Promise<void>
  /**
   * Runs a function in the page.
   *
   * @param run Serialized, so it can not use variables of the test.
   * @returns Its result, or that of its promise, as JSON.
   */
  evaluate<Args extends readonly unknown[], Result>(
    run: (...args: Args) => Result,
    ...args: Args
  ): Promise<Awaited<Result>>
  /** Clicks the first element of a CSS selector with the mouse. */
  click(selector: string): Promise<void>
}

/** A driver of WebKitGTK with its own display. */
export type WebKitDriver = {
  /** Opens a window in a new session, with empty storage. `close` ends the session. */
  open(): Promise<WebKitPage & { close(): Promise<void> }>
  end(): Promise<void>
}

/** The property of WebDriver's answers that contains the reference of an element. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'

/** Starts WebKitGTK's own WebDriver (https://www.w3.org/TR/webdriver2/). Playwright can drive only its patched build. */
export async function startWebKit({ driver, browser, display }: WebKit): Promise<WebKitDriver> {
  const screen = spawn(
    display,
    ['-displayfd', '3', '-screen', '0', '1280x800x24', '-nolisten', 'tcp'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
  )
  const [number] = await once(screen.stdio[3] as Readable, 'data')
  const port = await freePort()
  const child = spawn(driver, [`--port=${port}`], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DISPLAY: `:${String(number).trim()}`,
      // WebKit must not look for a graphics card or an accessibility bus.
      LIBGL_ALWAYS_SOFTWARE: '1',
      WEBKIT_DISABLE_DMABUF_RENDERER: '1',
      NO_AT_BRIDGE: '1',
    },
  })

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { value } = (await response.json()) as { value: unknown }
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(value)}`)
    return value
  }

  await until(() => call('GET', '/status'))
  return {
    async open() {
      const { sessionId } = (await call('POST', '/session', {
        capabilities: {
          alwaysMatch: {
            'webkitgtk:browserOptions': { binary: browser, args: ['--automation'] },
          },
        },
      })) as { sessionId: string }
      const at = `/session/${sessionId}`
      return {
        goto: async (url) => void (await call('POST', `${at}/url`, { url })),
        async evaluate(run, ...args) {
          const script = `const args = [...arguments], done = args.pop();
            Promise.resolve().then(() => (${run})(...args))
              .then((value) => done({ value }), (error) => done({ error: String(error) }))`
          const answer = await call('POST', `${at}/execute/async`, { script, args })
          const { value, error } = answer as { value: never; error?: string }
          if (error !== undefined) throw new Error(error)
          return value
        },
        async click(selector) {
          const found = await call('POST', `${at}/element`, {
            using: 'css selector',
            value: selector,
          })
          const id = (found as Record<string, string>)[ELEMENT]
          await call('POST', `${at}/element/${id}/click`, {})
        },
        close: async () => void (await call('DELETE', at)),
      }
    },
    async end() {
      await stop(child)
      await stop(screen)
    },
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill()
  await ended
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Repeats a call until it succeeds, for at most 30 s. */
async function until(run: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + 30_000
  for (;;) {
    try {
      await run()
      return
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
