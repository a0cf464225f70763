export interface Browsers {
  readonly chromium: string | undefined
  readonly firefox: string | undefined
  readonly webkit: WebKit | undefined
}
/** Absolute paths of WebKitGTK's driver and browser, and of the X server. */
export interface WebKit {
  readonly driver: string
  readonly browser: string
  readonly display: string
}
export const QUIET_CHROMIUM: string[]
export function findBrowsers(): Promise<Browsers>
export function installBrowsers(): Promise<Browsers>
