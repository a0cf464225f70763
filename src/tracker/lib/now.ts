import { guard } from './guard.ts'

/**
 * The browser's clock, ms since 1970. Not `Date.now`, because pages replace it; one page returned text. If `Date` itself
 * is broken, it is always 1, and the gateway uses the time of arrival.
 */
export const now = (): number => guard(() => +new Date()) || 1
