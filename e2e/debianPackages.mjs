import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { findOnPath, root } from '../src/build/install.mjs'

/**
 * Whether this process may install Debian's packages. Ubuntu is left out: its package `chromium` installs a snap.
 */
export function canInstallPackages() {
  return (
    process.getuid?.() === 0 &&
    existsSync('/etc/os-release') &&
    /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8')) &&
    findOnPath(['apt-get']) !== undefined
  )
}

/** Installs packages by their names. A package that can not be installed is missing afterwards. */
export function installDebianPackages(packages) {
  console.log(`Installing ${packages.join(' and ')} (apt-get) …`)
  // If the update fails for one source, the others may still be enough for the packages.
  run('apt-get', ['update', '-q'])
  run('apt-get', ['install', '-qq', '-y', '--no-install-recommends', ...packages])
}

/** Runs a command that installs something, and prints its output. */
export function run(command, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync(command, args, { cwd: root, env, stdio: 'inherit' }).status === 0
}
