import { file } from './file.ts'
import { ga4 } from './ga4.ts'
import type { Kind } from './kind.ts'
import { service } from './service.ts'
import { webhook } from './webhook.ts'

/** Every kind of destination, by its name. */
export const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>(
  [service, webhook, ga4, file].map((kind) => [kind.name, kind as Kind]),
)
