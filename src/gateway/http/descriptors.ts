import { readFileSync } from 'node:fs'

/** Descriptors for everything but connections: databases, logs, files. */
const RESERVED = 100
/** Default, if there are enough descriptors. An idle connection takes about 18 kB, one with the largest head up to 100 kB. */
export const DEFAULT_MAX_CONNECTIONS = 2_048

/**
 * The most connections that the gateway has open.
 *
 * @param wanted The setting. Default 2,048, or fewer if the process may not open that many files.
 * @param limit Files that the process may open.
 * @throws Error if the process may not open as many files as the setting needs.
 */
export function chooseMaxConnections(
  wanted: number | undefined,
  limit = readDescriptorLimit(),
): number {
  const most = Math.max(limit - RESERVED, 1)
  if (wanted !== undefined && wanted > most)
    throw new Error(
      `MAX_CONNECTIONS is ${wanted}, but this process may open only ${limit} files, and needs ${RESERVED} of them for other purposes. Allow more (ulimit -n, LimitNOFILE=), or set MAX_CONNECTIONS to at most ${most}.`,
    )
  return wanted ?? Math.min(DEFAULT_MAX_CONNECTIONS, most)
}

/**
 * Files that this process may open. Infinity if the system does not report it. Node raises the soft limit to the hard
 * one at its start.
 *
 * @param file Format of Linux, proc_pid_limits(5).
 */
export function readDescriptorLimit(file = '/proc/self/limits'): number {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8'))?.[1]
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Not Linux.
    return Number.POSITIVE_INFINITY
  }
}
