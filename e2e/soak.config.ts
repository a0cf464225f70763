import { defineConfig } from '@playwright/test'
import config from './playwright.config.ts'

/** Tests that take too long for every run. `npm run soak` runs them before its random faults. */
export default defineConfig(config, { testMatch: '**/*.soak.ts' })
