import { guard } from '../lib/guard.ts'
import type { Store } from '../lib/storage.ts'

/** Name in sessionStorage. A denial of consent removes it (parts/consent.ts). */
const PANEL = 'track.panel'

export const TABS = ['events', 'untracked', 'state'] as const
export type Tab = (typeof TABS)[number]
const SHOWN = ['open', 'minimised', 'closed'] as const

/** How the panel is shown on the pages of this tab. */
export type Look = {
  readonly shown: (typeof SHOWN)[number]
  readonly tab: Tab
  /** Distance from the left and the top of the window, px. Undefined until the panel is moved. */
  readonly place?: readonly [left: number, top: number] | undefined
  /** Operations that pages of this tab have reported: they are tracked, whatever the elements look like. */
  readonly reported: readonly string[]
}

/** Keeps how the panel is shown for this browser tab. */
export type PanelMemory = {
  read(): Look
  /** Does nothing if the value is the same. */
  write(look: Look): void
}

/** @param session sessionStorage. Closed while the visitor has not consented: then nothing is remembered. */
export function createPanelMemory(session: Store): PanelMemory {
  return {
    read() {
      const stored = Object(guard(() => JSON.parse(session.get(PANEL) ?? ''), {}))
      const { shown, tab, place, reported } = { __proto__: null, ...stored } as Partial<Look>
      const isPlace = Array.isArray(place) && place.length === 2 && place.every(Number.isFinite)
      return {
        shown: SHOWN.find((one) => one === shown) ?? 'open',
        tab: TABS.find((one) => one === tab) ?? 'events',
        place: isPlace ? place : undefined,
        reported: Array.isArray(reported)
          ? reported.filter((one) => typeof one === 'string').slice(0, MAX_REPORTED)
          : [],
      }
    },
    write(look) {
      const text = JSON.stringify(look)
      if (session.get(PANEL) !== text) session.set(PANEL, text)
    },
  }
}

/** There are ten operations. */
const MAX_REPORTED = 10
