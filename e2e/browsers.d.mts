export interface Browsers {
  readonly chromium: string | undefined
  readonly firefox: string | undefined
}
export const QUIET_CHROMIUM: string[]
export function findBrowsers(): Promise<Browsers>
export function installBrowsers(): Promise<Browsers>
