import type { ForwardEvent } from '../gateway/forward/kind.ts'

/** An event of a product view, as a destination gets it. The fields given replace its own. */
export const makeForwardEvent = (
  seq: number,
  { payload, ...fields }: Partial<ForwardEvent> = {},
): ForwardEvent => ({
  seq,
  customer: 'acme',
  id: `00000000-0000-7000-8000-${String(seq).padStart(12, '0')}`,
  at: Date.UTC(2026, 10, 29, 12) + seq,
  receivedAt: Date.UTC(2026, 10, 29, 12) + seq + 5,
  operation: 'viewProduct',
  event: 'view_product',
  did: 'd1',
  bot: false,
  version: null,
  payload: {
    did: 'd1',
    event: 'view_product',
    url: 'https://shop.example/mug',
    http_user_agent: 'Mozilla/5.0',
    remote_addr: '203.0.113.7',
    product_id: '42',
    ...payload,
  },
  ...fields,
})
