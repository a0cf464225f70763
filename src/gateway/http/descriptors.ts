import { readFileSync } from 'node:fs'

/** Of the descriptors those that connections leave free: databases, logs, files that are read. */
const RESERVED = 100
/** Connections where there are descriptors enough. An idle one takes some 18 kB of memory, one with a large head 40. */
const DEFAULT_MAX_CONNECTIONS = 2_048

/**
 * How many connections a gateway takes.
 *
 * @param wanted As it was set. Default 2,048, fewer where the process may not open so many files.
 * @param limit Files that the process may open.
 * @throws Error where it may not open as many as are wanted.
 */
export function chooseMaxConnections(
  wanted: number | undefined,
  limit = readDescriptorLimit(),
): number {
  const most = Math.max(limit - RESERVED, 1)
  if (wanted !== undefined && wanted > most)
    throw new Error(
      `MAX_CONNECTIONS is ${wanted}, and this process may open ${limit} files, of which it needs ${RESERVED} for itself. Allow more (ulimit -n, LimitNOFILE=) or set MAX_CONNECTIONS to ${most} at most.`,
    )
  return wanted ?? Math.min(DEFAULT_MAX_CONNECTIONS, most)
}

/**
 * Files that this process may open; Infinity where the system does not tell. Node itself raises the soft
 * limit to the hard one.
 *
 * @param file As Linux has it, proc_pid_limits(5).
 */
export function readDescriptorLimit(file = '/proc/self/limits'): number {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8'))?.[1]
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // No Linux.
    return Number.POSITIVE_INFINITY
  }
}
