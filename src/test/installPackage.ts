import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The package in a new project outside the repository. */
export type Installed = {
  /** The folder of the project. */
  readonly folder: string
  /** The file that `npm pack` made of the last build. */
  readonly tarball: string
  /** The paths in it. */
  readonly files: readonly string[]
  readonly remove: () => void
}

/** Packs the last build, and installs it as anybody would. `--offline` shows that it needs no other package. */
export function installPackage(): Installed {
  const base = mkdtempSync(join(tmpdir(), 'shoptrail-'))
  const folder = join(base, 'project')
  mkdirSync(folder)
  const packed = run(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', base],
    root,
  )
  const [{ filename, files }] = JSON.parse(packed)
  const tarball = join(base, filename)
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  run('npm', ['install', '--offline', tarball], folder)
  return {
    folder,
    tarball,
    files: files.map(({ path }: { readonly path: string }) => path),
    remove: () => rmSync(base, { recursive: true, force: true }),
  }
}

/** Runs a program, and expects that it succeeds. Returns its output. */
export function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  expect(`${status} ${stderr}`, `${command} ${args.join(' ')}\n${stdout}`).toMatch(/^0 /)
  return stdout
}
