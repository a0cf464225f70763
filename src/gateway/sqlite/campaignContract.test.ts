import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testCampaigns } from '../../test/campaignContract.ts'
import { createSqliteCampaigns } from './campaigns.ts'
import { openStore } from './store.ts'

testCampaigns(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoptrail-'))
  const store = openStore(join(folder, 'events.db'))
  const campaigns = createSqliteCampaigns(async (name, ...args) =>
    (store[name] as (...args: unknown[]) => never)(...args),
  )
  return {
    campaigns,
    other: campaigns,
    async close() {
      store.close()
      rmSync(folder, { recursive: true })
    },
  }
})
