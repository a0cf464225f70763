import { defineConfig } from '@playwright/test'
import { findBrowsers, QUIET_CHROMIUM } from './browsers.mjs'

const { chromium, firefox, webkit } = await findBrowsers()

/** By WebDriver; Playwright drives no WebKit but its own build. */
const WEBKIT = '**/webkit.spec.ts'

/**
 * Every spec runs in Chromium. One tagged `@both` runs in Firefox as well, one tagged `@firefox`
 * only there: Firefox takes seconds to start, and most of what we test does not differ.
 */
export default defineConfig({
  testDir: '.',
  testMatch: '**/*.spec.ts',
  outputDir: '../dist/e2e',
  forbidOnly: Boolean(process.env.CI),
  // Most of a test is waiting for a network that a proxy makes slow, so two cores hold more than two workers.
  workers: 4,
  // A long file is spread over the workers.
  fullyParallel: true,
  // A test that fails on a busy machine is a defect, of the test or of the product.
  retries: 0,
  // Long enough for a machine that does several other things. A test that waits for a condition ends when it holds.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: process.env.E2E_REPORT
    ? [['list'], ['json', { outputFile: process.env.E2E_REPORT }]]
    : 'list',
  use: { screenshot: 'only-on-failure' },
  projects: [
    {
      name: 'chromium',
      grepInvert: /@firefox/,
      testIgnore: WEBKIT,
      use: {
        browserName: 'chromium',
        launchOptions: {
          ...(chromium && { executablePath: chromium }),
          args: QUIET_CHROMIUM,
        },
      },
    },
    ...(firefox
      ? [
          {
            name: 'firefox',
            grep: /@both|@firefox/,
            testIgnore: WEBKIT,
            use: {
              browserName: 'firefox' as const,
              // A stock Firefox by WebDriver BiDi; Playwright's default asks for its own build.
              channel: 'moz-firefox',
              launchOptions: {
                executablePath: firefox,
                firefoxUserPrefs: {
                  // page.goBack() hangs when the page comes out of the back/forward cache.
                  'browser.sessionhistory.max_total_viewers': 0,
                  // Windows that a page opens are not always seen by the driver; here any may close itself.
                  'dom.allow_scripts_to_close_windows': true,
                },
              },
            },
          },
        ]
      : []),
    ...(webkit ? [{ name: 'webkit', testMatch: WEBKIT }] : []),
  ],
})
