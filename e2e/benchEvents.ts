import { randomBytes, randomUUID } from 'node:crypto'
import type { Utm } from '../src/gateway/campaigns/utm.ts'
import { makeEventId } from '../src/gateway/collect/eventId.ts'
import type { LogEvent } from '../src/gateway/collect/eventLog.ts'
import type { CampaignRow } from '../src/gateway/sqlite/campaignRows.ts'
import { createRandom } from './random.ts'

/** What the events of a benchmark are like. */
export type EventsOptions = {
  /** The customers, `customer-0` and so on. */
  readonly customers: number
  /** How many devices there are. Each belongs to one customer. */
  readonly devices: number
  /** Share of the devices that visit by a campaign, one of four events. */
  readonly visitors: number
  /** Share of the events with an id of version 4, as servers make them. The others have version 7. */
  readonly v4?: number
  /** Share of the events of any device. The others are of the 200 devices that came last. Default 1. */
  readonly anywhere?: number
  readonly seed?: number
}

export const utmOf = (n: number): Utm => ({
  utm_campaign: `campaign ${n}`,
  utm_medium: 'email',
  utm_source: 'newsletter',
})

/** Campaigns of each customer. */
const CAMPAIGNS = 10
const RECENT = 200

/** @returns A function that makes the next event, with a payload of about 600 bytes. */
export function createEvents(options: EventsOptions): (at: number) => LogEvent {
  const { customers, devices, visitors, v4 = 0, anywhere = 1, seed = 5 } = options
  const random = createRandom(seed)
  /** The same for the same seed, so that a later program continues with the same devices. */
  const dids = createRandom(seed + 1)
  const salt = Array.from({ length: 4 }, () => dids.below(2 ** 32))
  let newest = RECENT

  /** A UUID that follows from the number of the device: a million of them need not be kept. */
  function didOf(device: number): string {
    const hex = salt
      .map((part, i) => (Math.imul(device + 1, 0x9e3779b1 + 2 * i) ^ part) >>> 0)
      .map((part) => part.toString(16).padStart(8, '0'))
      .join('')
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-')
  }

  function nextDevice(): number {
    if (random.chance(anywhere)) return random.below(devices)
    if (random.chance(1 / 6)) newest = (newest + 1) % devices
    return Math.max(0, newest - random.below(RECENT))
  }

  return (at) => {
    const device = nextDevice()
    const did = didOf(device)
    const isLanding = (device >>> 3) % 100 < visitors * 100 && random.chance(0.25)
    const product = random.below(5_000)
    const page = isLanding
      ? `/?${new URLSearchParams(utmOf(device % CAMPAIGNS))}`
      : `/products/${product}?sort=price`
    const payload = JSON.stringify({
      did,
      event: 'view_product',
      url: `https://shop.example${page}`,
      http_user_agent:
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      remote_addr: '203.0.113.7',
      product_id: product,
      quantity: 1,
      variation: { id: '12-1', sku: 'MUG-COBALT' },
      title: 'A mug of cobalt blue with a wide handle, for tea and for soup. '.repeat(3),
    })
    return {
      customer: `customer-${device % customers}`,
      id: random.chance(v4) ? randomUUID() : makeEventId(at),
      at,
      receivedAt: at,
      operation: 'viewProduct',
      event: 'view_product',
      did,
      bot: false,
      version: null,
      payload,
    }
  }
}

/** A campaign of a customer, as its row. */
export const makeCampaign = (customer: string, n: number): CampaignRow => ({
  customer,
  id: randomBytes(16).toString('hex'),
  createdAt: 0,
  type: 'email',
  status: 'scheduled',
  sendAt: '2027-03-01 09:00',
  name: `Campaign ${n}`,
  subjectLine: 'New mugs',
  summary: JSON.stringify({ tracking: utmOf(n) }),
  content: new Uint8Array(),
})
