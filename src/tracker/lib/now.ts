import { guard } from './guard.ts'

/**
 * The browser's clock, ms since 1970. Not `Date.now`: pages replace it (with text, once). Where `Date`
 * itself is broken it stands still at 1: event and request agree then, and the gateway takes the moment
 * of arrival.
 */
export const now = (): number => guard(() => +new Date()) || 1
