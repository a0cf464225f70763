import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { findBrowsers, QUIET_CHROMIUM } from './browsers.mjs'

/**
 * A Chromium without a test runner, for measuring. A runner watches the network of its pages, and the browser then
 * records for each request where in the page's code it was made: a third of the cost of a small script.
 */
export type PlainChromium = {
  /**
   * Opens a page in a new context: without cache and storage.
   *
   * @param beside A page whose context it shares: the new page is a tab in front of it, and hides it. (Playwright's own
   * tabs are never hidden.)
   */
  open(beside?: PlainPage): Promise<PlainPage>
  close(): Promise<void>
}

/** A page, controlled only by the DevTools protocol. */
export type PlainPage = {
  readonly context: string
  send(method: string, params?: object): Promise<unknown>
  on<P>(method: string, listener: (params: P) => void): void
  /** The next event of this name. */
  next(method: string): Promise<unknown>
  close(): Promise<unknown>
}

type Message = { id?: number; method: string; sessionId?: string; params: unknown; result: unknown }
type Session = { sessionId: string; targetId: string; browserContextId: string }

export async function startPlainChromium(): Promise<PlainChromium> {
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'))
  const child = spawn(
    (await findBrowsers()).chromium ?? 'chromium',
    [
      '--headless=new',
      '--no-sandbox',
      ...QUIET_CHROMIUM,
      '--remote-debugging-pipe',
      `--user-data-dir=${profile}`,
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  )
  const ended = once(child, 'exit')
  // Otherwise pending calls would wait for ever.
  let isClosing = false
  child.once('exit', () => {
    if (!isClosing) throw new Error('Chromium ended')
  })
  const input = child.stdio[3] as Writable
  const output = child.stdio[4] as Readable
  const listeners = new Set<(message: Message) => void>()
  let rest = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    const messages = (rest + text).split('\0')
    rest = messages.pop() ?? ''
    for (const message of messages)
      for (const listener of [...listeners]) listener(JSON.parse(message))
  })

  /** Waits for the first matching message. */
  const hear = (isWanted: (message: Message) => boolean) =>
    new Promise<Message>((resolve) => {
      const listener = (message: Message) => {
        if (!isWanted(message)) return
        listeners.delete(listener)
        resolve(message)
      }
      listeners.add(listener)
    })
  let last = 0
  const send = async (method: string, params: object = {}, sessionId?: string) => {
    const id = ++last
    const answer = hear((message) => message.id === id)
    input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    const { result } = await answer
    if (!result) throw new Error(`Chromium refuses ${method}`)
    return result
  }

  return {
    async open(beside) {
      const browserContextId =
        beside?.context ?? ((await send('Target.createBrowserContext')) as Session).browserContextId
      const { targetId } = (await send('Target.createTarget', {
        url: 'about:blank',
        browserContextId,
      })) as Session
      const { sessionId } = (await send('Target.attachToTarget', {
        targetId,
        flatten: true,
      })) as Session
      const isOurs = (message: Message, method: string) =>
        message.sessionId === sessionId && message.method === method
      return {
        context: browserContextId,
        send: (method, params) => send(method, params, sessionId),
        on(method, listener) {
          listeners.add((message) => {
            if (isOurs(message, method)) listener(message.params as never)
          })
        },
        next: (method) => hear((message) => isOurs(message, method)),
        close: () => send('Target.disposeBrowserContext', { browserContextId }),
      }
    },
    async close() {
      isClosing = true
      await send('Browser.close')
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
