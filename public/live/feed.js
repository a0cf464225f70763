/**
 * The connection to the gateway: who may be watched, signing in, and the stream itself.
 */

const RETRY_MS = [1000, 2000, 5000, 10_000]

/** The customers this viewer may see and the server's clock; `undefined` where it must sign in. */
export async function loadCustomers() {
  const answer = await fetch('/live/customers', { headers: { accept: 'application/json' } })
  if (answer.status === 401) return
  if (!answer.ok) throw new Error(`The gateway answered ${answer.status}`)
  const serverNow = Date.parse(answer.headers.get('date') ?? '') || Date.now()
  return { customers: await answer.json(), serverNow }
}

/** Posts the two values once; answers what was wrong, or '' when signed in. */
export async function signIn(customerId, restKey) {
  const answer = await post('/live/login', { customerId, restKey }).catch(() => undefined)
  if (!answer) return 'The gateway does not answer. Is it running?'
  if (answer.ok) return ''
  if (answer.status === 429) {
    const seconds = Number(answer.headers.get('retry-after')) || 5
    const wait = seconds === 1 ? 'a second' : `${seconds} seconds`
    return `Too many tries. Check the customer ID and the REST key, and try again in ${wait}.`
  }
  if (answer.status === 401 || answer.status === 404)
    return 'This customer ID and REST key do not belong together.'
  return `That did not work (${answer.status}).`
}

export const signOut = () => post('/live/logout', {})

function post(path, body) {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/**
 * Opens the stream of a customer and keeps it open: the browser reconnects by itself where the line
 * breaks; where the gateway refused, we ask why and whom this viewer may see. Who may not look any more is
 * told why, once, and the stream stays closed.
 *
 * @param {string} customerId
 * @param {{ onEvent: (event: object, length: number) => void, onState: (state: string) => void,
 *   onEnd: (reason: 'key_changed' | 'signed_out' | 'removed' | 'refused') => void }} told
 * @returns {() => void} closes it.
 */
export function startFeed(customerId, { onEvent, onState, onEnd }) {
  const address = `/live/events?customer=${encodeURIComponent(customerId)}`
  let source
  let timer = 0
  let failures = 0
  let stopped = false

  function open() {
    source = new EventSource(address)
    source.onopen = () => {
      failures = 0
      onState('connected')
    }
    source.addEventListener('event', ({ data }) => {
      try {
        onEvent(JSON.parse(data), data.length)
      } catch {
        // A line that is no JSON is not an event; the stream goes on.
      }
    })
    source.addEventListener('end', ({ data }) => {
      stop()
      onEnd(readReason(data))
    })
    source.onerror = () => {
      // CONNECTING: the browser tries by itself. CLOSED: it has given up, so we try.
      if (source.readyState === EventSource.CLOSED) again()
      else onState('reconnecting')
    }
  }
  async function again() {
    const state = await findRefusal(address)
    if (stopped) return
    onState(state)
    clearTimeout(timer)
    const wait = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]
    timer = setTimeout(async () => {
      const reason = await findEnd().catch(() => '')
      if (stopped) return
      if (!reason) return open()
      stop()
      onEnd(reason)
    }, wait)
  }
  async function findEnd() {
    const answer = await loadCustomers()
    if (!answer) return 'signed_out'
    return answer.customers.some((one) => one.customerId === customerId) ? '' : 'refused'
  }
  function stop() {
    stopped = true
    clearTimeout(timer)
    source.close()
  }

  onState('connecting')
  open()
  return stop
}

/** Why the gateway does not open a stream, as a state: HEAD answers what GET would. */
async function findRefusal(/** @type {string} */ address) {
  const answer = await fetch(address, { method: 'HEAD' }).catch(() => undefined)
  // A proxy has errors of its own, which are pages.
  const isOurs = answer?.headers.get('content-type')?.startsWith('application/json')
  if (isOurs && answer.status === 429) return 'shop-full'
  if (isOurs && answer.status === 503) return 'full'
  return 'reconnecting'
}

/** Why the gateway ended the stream: `{"reason"}`. */
function readReason(/** @type {string} */ data) {
  try {
    return JSON.parse(data).reason
  } catch {
    return 'refused'
  }
}
