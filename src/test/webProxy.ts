import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findPort } from './findPort.ts'

/** A real proxy that runs with the files of docs/deploy, changed only in names, ports and certificates. */
export type WebProxy = {
  /** The gateway as a host of its own, without a slash at its end. */
  readonly subdomain: string
  /** The gateway as a path of a shop's host, without a slash at its end. */
  readonly path: string
  /** What the proxy's check of its configuration has printed. */
  readonly checked: string
  close(): Promise<void>
}

export type WebProxyName = 'nginx' | 'caddy'

const DEPLOY = fileURLToPath(new URL('../../docs/deploy/', import.meta.url))
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8')

/** Replaces a text that must be there: otherwise the test would not run the file that is shipped. */
function replace(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`The example has no ${JSON.stringify(from)} any more`)
  return text.replaceAll(from, to)
}

/**
 * @param folder Folder for its files. Created if it is missing.
 * @param gateways Addresses of one or two gateways.
 * @throws Error if the proxy is not installed.
 */
export async function startWebProxy(
  name: WebProxyName,
  folder: string,
  gateways: readonly string[],
): Promise<WebProxy> {
  if (spawnSync(name, [name === 'nginx' ? '-v' : 'version']).status !== 0)
    throw new Error(`${name} is not installed: apt-get install ${name}`)
  mkdirSync(folder, { recursive: true })
  const ports = [await findPort(), await findPort()] as const
  const hosts = gateways.map((url) => new URL(url).host)
  const start = name === 'nginx' ? startNginx : startCaddy
  const { subdomain, path, check, run } = start(folder, ports, hosts)
  const [command = '', ...args] = check
  const { status, stderr, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  const checked = stdout + stderr
  if (status !== 0) throw new Error(checked)
  const child = spawn(name, run, { stdio: ['ignore', 'ignore', 'inherit'] })
  for (const port of ports) await untilListening(port)
  return {
    subdomain,
    path,
    checked,
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

type Prepared = Pick<WebProxy, 'subdomain' | 'path'> & {
  readonly check: readonly string[]
  readonly run: readonly string[]
}

function startNginx(
  folder: string,
  [tls, plain]: readonly [number, number],
  [first = '', second]: readonly string[],
): Prepared {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=t.shop.example'],
    ...['-keyout', key, '-out', certificate],
  ])
  const proxy = file('shoptrail-proxy.conf', read('nginx-proxy.conf'))
  let upstream = replace(read('nginx-gateways.conf'), '127.0.0.1:8787', first)
  if (second) upstream = replace(upstream, '# server 127.0.0.1:8788', `server ${second}`)
  let subdomain = replace(
    read('nginx-subdomain.conf'),
    'listen 443 ssl http2;',
    `listen 127.0.0.1:${tls} ssl http2;`,
  )
  subdomain = replace(subdomain, 'listen [::]:443 ssl http2;', '')
  const live = '/etc/letsencrypt/live/t.shop.example'
  subdomain = replace(subdomain, `${live}/fullchain.pem`, certificate)
  subdomain = replace(subdomain, `${live}/privkey.pem`, key)
  const included = [subdomain, read('nginx-path.conf')].map((text) =>
    replace(text, '/etc/nginx/shoptrail-proxy.conf', proxy),
  )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  )
  const main = file(
    'nginx.conf',
    `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${join(folder, 'nginx.pid')};
error_log stderr crit;
worker_processes 1;
events {}
http {
  access_log off;
  ${temporary.join(' ')}
  include ${file('gateways.conf', upstream)};
  include ${file('subdomain.conf', included[0] as string)};
  server {
    listen 127.0.0.1:${plain};
    large_client_header_buffers 8 64k;
    location / { return 200 'the shop'; }
    include ${file('path.conf', included[1] as string)};
  }
}`,
  )
  const given = ['-p', folder, '-e', 'stderr', '-c', main]
  return {
    subdomain: `https://127.0.0.1:${tls}`,
    path: `http://127.0.0.1:${plain}/st`,
    check: ['nginx', '-t', ...given],
    run: given,
  }
}

function startCaddy(
  folder: string,
  [first, second]: readonly [number, number],
  gateways: readonly string[],
): Prepared {
  let text = replace(
    read('Caddyfile'),
    'reverse_proxy 127.0.0.1:8787 {',
    `reverse_proxy ${gateways.join(' ')} {`,
  )
  text = replace(text, '\nt.shop.example {', `\nhttp://127.0.0.1:${first} {`)
  text = replace(text, '\nshop.example {', `\nhttp://127.0.0.1:${second} {`)
  const file = join(folder, 'Caddyfile')
  writeFileSync(
    file,
    `{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel FATAL\n\t}\n\tstorage file_system ${folder}\n}\n${text}`,
  )
  const given = ['--config', file, '--adapter', 'caddyfile']
  return {
    subdomain: `http://127.0.0.1:${first}`,
    path: `http://127.0.0.1:${second}/st`,
    check: ['caddy', 'validate', ...given],
    run: ['run', ...given],
  }
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (isOpen) return
  }
}
