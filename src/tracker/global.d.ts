/*
 * The types of `window.track`, for shops that use TypeScript: `/// <reference types="shoptrail/global" />`. (An import
 * would remain in the shop's code, and there is no module to import.)
 *
 * If the shop has a `track` of its own, the helpers are `shoptrail`, or what `data-global` says. Then do not reference
 * this file, and declare that name: `declare const shoptrail: import('shoptrail').TrackApi`.
 */
import type { TrackApi } from './api.d.ts'

export type * from './api.d.ts'

declare global {
  interface Window {
    track: TrackApi
  }
  const track: TrackApi
}
