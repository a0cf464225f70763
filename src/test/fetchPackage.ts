import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Kept between runs. Git ignores it. */
const CACHE = fileURLToPath(new URL('../../.cache', import.meta.url))

/**
 * Fetches a package from the registry, without running its scripts, unless an earlier run has. For what only a few slow
 * tests need and is too large for the dependencies.
 *
 * @param version An exact one.
 * @returns The folder of the package.
 * @throws Error with npm's message.
 */
export function fetchPackage(name: string, version: string): string {
  const kept = join(CACHE, `${name}-${version}`)
  const inside = join('node_modules', name)
  if (existsSync(join(kept, inside, 'package.json'))) return join(kept, inside)
  mkdirSync(CACHE, { recursive: true })
  // Renamed when it is complete, so that an interrupted run leaves nothing that looks like a package.
  const partial = mkdtempSync(join(CACHE, 'partial-'))
  const { status, stderr } = spawnSync(
    'npm',
    ['install', `${name}@${version}`, '--prefix', partial, '--no-save', '--ignore-scripts'],
    { cwd: partial, encoding: 'utf8', shell: process.platform === 'win32' },
  )
  if (status !== 0) {
    rmSync(partial, { recursive: true, force: true })
    throw new Error(`${name}@${version} can not be fetched: ${stderr}`)
  }
  rmSync(kept, { recursive: true, force: true })
  renameSync(partial, kept)
  return join(kept, inside)
}

/** The newest versions of Node that are tried, by major version. */
const NODE_VERSIONS: Readonly<Record<string, string>> = {
  20: '20.20.2',
  22: '22.23.3',
  24: '24.22.3',
}

/**
 * The path of a Node of this major version: the one that runs this test, the one in the variable `NODE_22`, or one that
 * is fetched.
 *
 * @throws Error that says how to give one, if there is none for this machine.
 */
export function findNode(major: string): string {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const given = process.env[`NODE_${major}`]
  if (given) return given
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  try {
    const folder = fetchPackage(name, NODE_VERSIONS[major] as string)
    return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch (error) {
    throw new Error(
      `The package is tested on Node ${major}, and none was found. Set NODE_${major} to the path of one. ${(error as Error).message}`,
      { cause: error },
    )
  }
}
