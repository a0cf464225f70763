import { loadGateway } from '../gateway.ts'

/** How often each id is in the log of a data folder. */
export async function countLog(folder: string): Promise<Map<string, number>> {
  const { startGateway } = await loadGateway()
  const reader = await startGateway({ dataDir: folder })
  const times = new Map<string, number>()
  for (let after = 0; ; ) {
    const rows = await reader.log.read({ after, max: 5_000 })
    for (const { id } of rows) times.set(id, (times.get(id) ?? 0) + 1)
    after = rows.at(-1)?.seq ?? after
    if (rows.length < 5_000) break
  }
  await reader.close()
  return times
}
