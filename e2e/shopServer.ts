import { readFileSync } from 'node:fs'
import {
  createServer,
  request as forwardRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PUBLIC = fileURLToPath(new URL('../dist/public', import.meta.url))
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The contents of a page that a test makes. */
export type PageParts = {
  /** Default: the script's tag without async, so that the body can use `track`. */
  readonly head?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A shop on its own host name: pages made by the test, the demo shop under /shop/, and the gateway under /t/. It answers on
 * every subdomain of localhost.
 */
export type Shop = {
  /** Its origin, http://localhost and a port: not the host of the gateway, 127.0.0.1. */
  readonly url: string
  /** Serves a page from now on, with any query. @returns Its address. */
  page(path: string, parts?: PageParts): string
  /** Serves any text. @returns Its address. */
  file(path: string, type: string, text: string): string
  /** The script's tag for a tracking key. `attributes` such as `async data-source="app"`. */
  tag(attributes?: string, key?: string): string
  /** The address of the script of a tracking key, through the proxy. */
  script(key?: string): string
  close(): Promise<void>
}

/**
 * @param base Address from which pages load the script.
 * @param trackingKey Tracking key of the shop's customer.
 */
export async function startShop(base: string, trackingKey: string): Promise<Shop> {
  const files = new Map<string, { headers: Record<string, string>; text: string }>()
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://localhost:${(server.address() as AddressInfo).port}`

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { url: target = '/', method } = request
    const path = new URL(target, url).pathname
    const file = files.get(path) ?? demoFile(path)
    if (path.startsWith('/t/')) forward(request, response)
    else if (file) response.writeHead(200, file.headers).end(file.text)
    // The target of a posted form; then anything else, such as a favicon.
    else if (method === 'POST') response.writeHead(303, { location: '/thanks' }).end()
    else response.writeHead(204).end()
  }

  /** The gateway on the shop's own host, as a shop serves it in first-party mode. */
  function forward(request: IncomingMessage, response: ServerResponse): void {
    const { method, headers } = request
    const inner = forwardRequest(
      base + request.url,
      { method, headers, agent: false },
      (answered) => {
        response.writeHead(answered.statusCode ?? 502, answered.headers)
        answered.pipe(response)
      },
    )
    inner.on('error', () => response.destroy())
    request.pipe(inner)
  }

  /** A file of the demo shop. Its script tag is replaced by the tag of the test's key, through the proxy. */
  function demoFile(path: string) {
    // The demo shop's own server is a part of the gateway's demo, which this shop does without.
    if (!path.startsWith('/shop/') || path.startsWith('/shop/server/')) return undefined
    const file = join(PUBLIC, path.endsWith('/') ? `${path}index.html` : path)
    const text = readFileSync(file, 'utf8').replace(
      /src="[./]*\/t\/j\/DEMOSHOP"/,
      `src="${shop.script()}"`,
    )
    return { headers: { 'content-type': TYPES[extname(file)] ?? 'text/plain' }, text }
  }

  const shop: Shop = {
    url,
    page(path, { head = shop.tag(), body = '', headers = {} } = {}) {
      const text = `<!doctype html><html><head><meta charset="utf-8"><title>${path}</title><link rel="icon" href="data:,">${head}</head><body>${body}</body></html>`
      files.set(path, { headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, text })
      return url + path
    },
    file(path, type, text) {
      files.set(path, { headers: { 'content-type': type }, text })
      return url + path
    },
    tag: (attributes = '', key = trackingKey) =>
      `<script ${attributes} src="${shop.script(key)}"></script>`,
    script: (key = trackingKey) => `${base}/t/j/${key}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return shop
}
