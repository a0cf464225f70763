import type { Operation } from '../contract/index.ts'

const page = {
  did: '7c9f2f4e-1d0b-4a53-9f6e-2f6d3b0c8a11',
  event: 'an_event',
  url: 'https://shop.example/',
  http_user_agent: 'Agent/1',
  remote_addr: '203.0.113.10',
  source: 'blog',
}

const line = { ...page, product_id: 42, quantity: 1, variation: { id: '42-1', sku: 'TEE-S' } }

/** A valid payload of each operation, with all optional fields. Validation does not change it. */
export const completePayloads = {
  list: {
    filters: 'scheduled',
    search: 'spring',
    type: 'email',
    start_date: '2027-03-01',
    page: '1',
    limit: '20',
  },
  create: {
    type: 'email',
    mode: 'regular',
    sender: { name: 'Shop', sender: 'news@shop.example', reply_to: 'help@shop.example' },
    audience: { audience_type: 'all', smart_sending: true },
    subject: { name: 'Spring', subject_line: 'New arrivals', preview_text: 'Have a look' },
    content: { html: '<p>Hello</p>' },
    scheduling: { send_at: '2027-03-01 09:30', use_optimal_time: 1, optimize_for: 'opening' },
    tracking: { utm_campaign: 'spring', utm_medium: 'email', utm_source: 'newsletter' },
  },
  getEmailReport: { id: 'c-1', bots: 'include' },
  getLatestCampaign: { limit: 5 },
  sendCustomApi: { email: 'ana@shop.example', event: 'quiz_done' },
  viewHomepage: page,
  initiateCheckout: page,
  viewProduct: { ...page, product_id: '42' },
  search: { ...page, search_term: 'lamp' },
  setEmail: {
    ...page,
    email_address: 'ana@shop.example',
    firstname: 'Ana',
    lastname: '',
    phone: '+40720000000',
  },
  sendCustom: { ...page, email: 'ana@shop.example' },
  addToCart: line,
  removeFromCart: line,
  addToWishlist: line,
  removeFromWishlist: line,
  serveJavascript: { trackingKey: 'ABC123' },
  saveOrder: {
    number: '1001',
    email_address: 'ana@shop.example',
    phone: '+40720000000',
    firstname: 'Ana',
    lastname: 'Pop',
    city: 'Cluj',
    county: 'Cluj',
    address: 'Lalelelor 7',
    discount_value: '-5.00',
    discount_code: 'SPRING',
    shipping: 15,
    tax: 19.99,
    total_value: '1,234.50',
    products: [
      { product_id: '42', price: '617.25', quantity: 2, variation_sku: 'TEE-S' },
      { product_id: '43', price: 0, quantity: 1.5, variation_sku: 'MUG' },
    ],
  },
  updateOrderStatus: { order_number: '1001', order_status: 'Livrată' },
  addSubscriber: {
    email: 'ana@shop.example',
    name: 'Ana Pop',
    firstname: 'Ana',
    lastname: 'Pop',
    phone: '+40720000000',
    add_tags: ['footer', 'spring'],
    city: 'Cluj',
    country: 'RO',
    birthday: '1990-02-28',
    channels: ['email', 'sms'],
    attributes: { club: true, points: 12, size: 'M' },
  },
  removeSubscriber: { email: 'ana@shop.example', channels: ['sms'] },
  unsubscribedEmails: { date_from: '2027-01-01', date_to: '1801440000' },
} as const satisfies { readonly [O in Operation]: object }

/** The names of all operations. */
export const operations = Object.keys(completePayloads) as readonly Operation[]
