import { defineConfig, devices } from '@playwright/test'
import { findBrowsers, QUIET_CHROMIUM } from './browsers.mjs'

const { chromium, firefox, webkit } = await findBrowsers()

/** Driven by WebDriver: Playwright can drive only its own build of WebKit. */
const WEBKIT = '**/webkit.spec.ts'

/**
 * Every test runs in Chromium. A test tagged `@both` also runs in Firefox, a test tagged `@firefox` only there: Firefox
 * takes seconds to start, and most tested behaviour is the same in both.
 */
export default defineConfig({
  testDir: '.',
  testMatch: '**/*.spec.ts',
  outputDir: '../dist/e2e',
  forbidOnly: Boolean(process.env.CI),
  // Tests mostly wait for a network that the proxy slows down, so two cores can run more than two workers.
  workers: 4,
  // The tests of a long file run in several workers.
  fullyParallel: true,
  // A test that fails on a busy machine is a defect of the test or of the product.
  retries: 0,
  // Long enough for a busy machine. Tests wait for conditions, so a quiet machine is not slowed down.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: process.env.E2E_REPORT
    ? [['list'], ['json', { outputFile: process.env.E2E_REPORT }]]
    : 'list',
  use: { screenshot: 'only-on-failure' },
  // Firefox first: its one worker is still busy when Chromium has done half of its tests.
  projects: [
    ...(firefox
      ? [
          {
            name: 'firefox',
            // Starting one takes ten seconds of a core.
            workers: 1,
            grep: /@both|@firefox/,
            testIgnore: WEBKIT,
            use: {
              browserName: 'firefox' as const,
              // A stock Firefox, driven by WebDriver BiDi. Playwright's default is its own build.
              channel: 'moz-firefox',
              launchOptions: {
                executablePath: firefox,
                firefoxUserPrefs: {
                  // page.goBack() hangs if the page is restored from the back/forward cache.
                  'browser.sessionhistory.max_total_viewers': 0,
                  // The driver does not always see windows that a page opens, so tests let windows close themselves.
                  'dom.allow_scripts_to_close_windows': true,
                },
              },
            },
          },
        ]
      : []),
    {
      name: 'chromium',
      grepInvert: /@firefox/,
      testIgnore: WEBKIT,
      use: {
        browserName: 'chromium',
        // Without a window Chromium calls itself HeadlessChrome, which is a bot for the gateway: reports leave it out.
        userAgent: devices['Desktop Chrome'].userAgent,
        launchOptions: {
          ...(chromium && { executablePath: chromium }),
          args: QUIET_CHROMIUM,
        },
      },
    },
    ...(webkit ? [{ name: 'webkit', testMatch: WEBKIT }] : []),
  ],
})
