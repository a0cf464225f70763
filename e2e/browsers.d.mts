export interface Browsers {
  readonly chromium: string | undefined
  readonly firefox: string | undefined
}
export function findBrowsers(): Promise<Browsers>
export function installBrowsers(): Promise<Browsers>
