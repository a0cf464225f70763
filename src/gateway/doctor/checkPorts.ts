import { createServer } from 'node:net'
import type { Asked } from './askDoctor.ts'
import { error, type Found, note, ok } from './finding.ts'

/** The gateway on PORT, or whether the port is free. */
export async function checkPort(host: string, port: number, asked: Asked): Promise<Found[]> {
  const place = `PORT ${port} of ${host}`
  if (asked.kind === 'gateway')
    return [
      asked.seen.unready === null
        ? ok(`The gateway of this folder answers on ${place}, and is ready`)
        : error(`The gateway on ${place} is not ready: ${asked.seen.unready}`),
    ]
  if (asked.kind === 'other')
    return [
      asked.message !== undefined && asked.status === 503
        ? error(`The gateway on ${place} does not answer: ${asked.message}`)
        : asked.message !== undefined
          ? error(
              `${place} is used by a gateway of another data folder`,
              'Set DATA_DIR as that gateway has it, or choose another PORT',
            )
          : error(
              `${place} is used by another program, which answers ${asked.status}`,
              'Choose another PORT, or stop it',
            ),
    ]
  return [await checkFree('PORT', host, port)]
}

/** Whether a gateway could listen on a port. */
export async function checkFree(name: string, host: string, port: number): Promise<Found> {
  const code = await tryPort(host, port)
  const place = `${name} ${port} of ${host}`
  if (code === undefined) return note(`${place} is free: no gateway is running`)
  if (code === 'EADDRINUSE')
    return error(
      `${place} is used by another program, which does not answer as a gateway`,
      `Choose another ${name}, or stop it`,
    )
  if (code === 'EACCES')
    return error(
      `${place} needs more rights than this user has`,
      `Choose a ${name} above 1023, and let the proxy listen on 443`,
    )
  return error(
    `HOST ${host} is not an address of this machine (${code})`,
    'Set HOST=127.0.0.1, or HOST=0.0.0.0 for every address',
  )
}

const tryPort = (host: string, port: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => resolve(code))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })

/** An address of this machine for a gateway that listens on `host`. */
export function localAddress(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
