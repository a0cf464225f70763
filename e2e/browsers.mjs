import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findOnPath, root } from '../src/build/install.mjs'
import { canInstallPackages, installDebianPackages, run } from './debianPackages.mjs'

const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const FIREFOX_NAMES = ['firefox-esr', 'firefox']

/**
 * Features of Chromium's own interface and services that tests do not need. Two of them are pages that every window of
 * a browser context loads for its address bar: half of the cost of a context. Chromium reads only the last
 * `--disable-features`, so this list repeats those that Playwright disables.
 */
const UNUSED_FEATURES = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'BlockOriginHeaderModificationOnRedirect',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  'GlobalMediaControls',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'Translate',
]

/** Switches off Chromium's own requests and pages, which would disturb counts and measurements. */
export const QUIET_CHROMIUM = [
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${UNUSED_FEATURES}`,
]

/**
 * Finds the browsers of the end-to-end tests. Firefox is a stock one, driven by WebDriver BiDi.
 *
 * @returns Absolute paths; undefined for a browser that is not installed. The environment variables CHROMIUM and
 * FIREFOX come first, then the PATH, then a Chromium that Playwright has downloaded.
 */
export async function findBrowsers() {
  const { chromium } = await import('@playwright/test')
  const downloaded = chromium.executablePath()
  return {
    chromium:
      process.env.CHROMIUM ||
      findOnPath(CHROMIUM_NAMES) ||
      (existsSync(downloaded) ? downloaded : undefined),
    firefox: process.env.FIREFOX || findOnPath(FIREFOX_NAMES),
    webkit: findWebKit(),
  }
}

/** WebKitGTK's driver, its browser, and the display that they need. Not in CI, which tests two engines. */
function findWebKit() {
  if (process.env.CI) return
  const driver = findOnPath(['WebKitWebDriver'])
  const display = findOnPath(['Xvfb'])
  const browser = ['/usr/lib', '/usr/libexec']
    .flatMap((folder) => [folder, ...foldersIn(folder)])
    .flatMap((folder) => ['4.1', '4.0'].map((api) => join(folder, `webkit2gtk-${api}/MiniBrowser`)))
    .find(existsSync)
  return driver && display && browser ? { driver, display, browser } : undefined
}

const foldersIn = (folder) =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []

/**
 * Installs missing browsers: Chromium always, Firefox only in CI, WebKit only outside CI. They come from Debian's
 * packages if this process may install them. Otherwise only Playwright's Chromium is downloaded.
 *
 * @returns The same as findBrowsers.
 */
export async function installBrowsers() {
  const { chromium, firefox, webkit } = await findBrowsers()
  const packages = [
    ...(chromium ? [] : ['chromium']),
    ...(firefox || !process.env.CI ? [] : ['firefox-esr']),
    ...(webkit || process.env.CI ? [] : ['webkit2gtk-driver', 'xvfb', 'xauth']),
  ]
  if (packages.length && canInstallPackages()) installDebianPackages(packages)
  if (!(await findBrowsers()).chromium) {
    console.log('Downloading a Chromium (playwright install chromium) …')
    run(process.execPath, [
      join(root, 'node_modules/@playwright/test/cli.js'),
      'install',
      'chromium',
    ])
  }
  return findBrowsers()
}
