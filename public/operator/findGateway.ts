/**
 * The gateway's address as this browser sees it, without a slash at its end: `https://shop.example/st` for the page
 * `https://shop.example/st/live/`. Every operators' page is one folder below it.
 */
export const findGateway = (): string => new URL('..', location.href).href.slice(0, -1)
