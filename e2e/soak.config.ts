import { defineConfig } from '@playwright/test'
import config from './playwright.config.ts'

/** Single faults that take too long for every run: `npm run soak` plays them before its random ones. */
export default defineConfig(config, { testMatch: '**/*.soak.ts' })
