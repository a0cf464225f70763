/** SVG paths of the icons, on a grid of 16 by 16, drawn as lines. */
const SIGNS = {
  page: 'M4 2.5h5.5l3 3v8H4z M9.5 2.5v3h3',
  viewHomepage: 'M2.5 8 8 3l5.5 5 M4.5 7v6h7V7',
  viewProduct:
    'M1.5 8C4.5 3 11.5 3 14.5 8c-3 5-10 5-13 0z M9.8 8a1.8 1.8 0 1 1-3.6 0 1.8 1.8 0 0 1 3.6 0z',
  search: 'M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0z m-1 3 3.5 3.5',
  addToCart: 'M1.5 6h13L13 13.5H3z M8 7.7v4 M6 9.7h4 M4 6l2-3.5 M12 6l-2-3.5',
  removeFromCart: 'M1.5 6h13L13 13.5H3z M6 9.7h4 M4 6l2-3.5 M12 6l-2-3.5',
  addToWishlist:
    'M8 13.5C3.5 10.5 1.8 8.5 1.8 6.1A3 3 0 0 1 8 5a3 3 0 0 1 6.2 1.1c0 2.4-1.7 4.4-6.2 7.4z M8 6.7v3.6 M6.2 8.5h3.6',
  removeFromWishlist:
    'M8 13.5C3.5 10.5 1.8 8.5 1.8 6.1A3 3 0 0 1 8 5a3 3 0 0 1 6.2 1.1c0 2.4-1.7 4.4-6.2 7.4z M6.2 8.5h3.6',
  initiateCheckout: 'M1.5 4h13v8.5h-13z M1.5 7h13 M4 10h2.5',
  saveOrder: 'M3 1.8v12.4l1.7-1.2 1.6 1.2L8 13l1.7 1.2 1.6-1.2 1.7 1.2V1.8z M5.5 5h5 M5.5 8h5',
  updateOrderStatus: 'M3 8.5V1.8h10v6 M5.5 5h5 M3 12h8 M8.5 9.5 11 12l-2.5 2.5',
  addSubscriber: 'M1.5 3.5h13v5 M1.5 3.5v9h6 m-6-8.5L8 9l6.5-5 M12 9.5v5 M9.5 12h5',
  removeSubscriber: 'M1.5 3.5h13v5 M1.5 3.5v9h6 m-6-8.5L8 9l6.5-5 M9.5 12h5',
  setEmail: 'M1.5 3.5h13v9h-13z m0 .5L8 9l6.5-5',
  sendCustom: 'M8 1.8 9.7 6l4.5.3-3.5 2.9 1.2 4.4L8 11.2l-3.9 2.4 1.2-4.4L1.8 6.3 6.3 6z',
  sendCustomApi: 'M4.7 4.5 1.5 8l3.2 3.5 M11.3 4.5 14.5 8l-3.2 3.5 M9.3 3.5l-2.6 9',
  pause: 'M5.5 3.5v9 M10.5 3.5v9',
  play: 'M5 3.2 12.5 8 5 12.8z',
  clear: 'M3 4.5h10 M6 4.5v-2h4v2 M4.5 4.5l.6 9h5.8l.6-9',
  tag: 'M5.5 4 1.8 8l3.7 4 M10.5 4l3.7 4-3.7 4',
  copy: 'M5.5 5.5h8v8h-8z M10.5 5.5v-3h-8v8h3',
  close: 'm4 4 8 8 M12 4l-8 8',
  check: 'm3 8.5 3.3 3.3L13 4.5',
  problem: 'M8 2.3 14.5 13.5h-13z M8 6.5v3.2 M8 11.6h.01',
  plus: 'M8 3v10 M3 8h10',
  back: 'M13 8H3 M7 4 3 8l4 4',
  next: 'M3 8h10 M9 4l4 4-4 4',
  shop: 'M2.5 6.5h11v7h-11z M1.5 6.5l2-4h9l2 4 M6.5 13.5v-4h3v4',
  email: 'M1.5 3.5h13v9h-13z m0 .5L8 9l6.5-5',
  sms: 'M2 3h12v8H7.5l-3 2.5V11H2z M5 7h.01 M8 7h.01 M11 7h.01',
  push: 'M3.5 11.5c1-1 1.2-2 1.2-4.2a3.3 3.3 0 0 1 6.6 0c0 2.2.2 3.2 1.2 4.2z M6.8 13.7h2.4',
}

export type SignName = keyof typeof SIGNS

/** @param kind The kind of event that sets the colour. */
export function Sign({ name, kind }: { readonly name: SignName; readonly kind?: string }) {
  return (
    <svg class="sign" viewBox="0 0 16 16" aria-hidden="true" data-kind={kind}>
      <path d={SIGNS[name]} />
    </svg>
  )
}
