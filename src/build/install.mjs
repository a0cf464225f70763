import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The only package that is compiled; the event log needs it. */
const NATIVE_PACKAGE = 'better-sqlite3'

/**
 * Installs the packages of package-lock.json if one is missing or has another version, and compiles the native one if
 * it can not be loaded. Takes milliseconds if nothing is to be done.
 *
 * Imports only modules of Node, because it runs before the packages are installed.
 *
 * @throws Error with what to install, if npm or the compiler is missing.
 */
export function installPackages() {
  if (isStale()) {
    console.log('Installing packages (npm ci); the first time takes a minute or two …')
    // The tools are dev dependencies, which NODE_ENV=production would leave out.
    npm(['ci', '--include=dev', '--no-audit', '--no-fund'])
  }
  if (canLoadNative()) return
  // If npm is configured to run no install scripts, the package has no binary. After a change of the Node version, the
  // binary does not fit.
  console.log(`Compiling ${NATIVE_PACKAGE}; this takes about a minute …`)
  npm(['rebuild', NATIVE_PACKAGE, '--ignore-scripts=false'])
  if (!canLoadNative()) throw new Error(compilerHint())
}

/** Whether node_modules lacks a package of the lock, or has it in another version. */
function isStale() {
  const installed = readLock(join(root, 'node_modules/.package-lock.json'))
  const wanted = readLock(join(root, 'package-lock.json'))
  if (!installed || !wanted) return true
  return Object.entries(wanted).some(
    // Optional packages are the binaries of other platforms. '' is the project itself.
    ([path, { version, optional }]) => path && !optional && installed[path]?.version !== version,
  )
}

function readLock(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

/** Tries it in a separate process, because a binary for another Node version can not be unloaded again. */
function canLoadNative() {
  const require = createRequire(join(root, 'package.json'))
  if (!existsSync(join(root, 'node_modules', NATIVE_PACKAGE))) return false
  const script = `new (require(${JSON.stringify(require.resolve(NATIVE_PACKAGE))}))(':memory:')`
  return spawnSync(process.execPath, ['-e', script], { stdio: 'ignore' }).status === 0
}

function npm(args) {
  // Inside `npm start`, npm_execpath is the npm that runs. The PATH may have another one.
  const [command, first] = process.env.npm_execpath?.endsWith('.js')
    ? [process.execPath, [process.env.npm_execpath]]
    : ['npm', []]
  const { status, error } = spawnSync(command, [...first, ...args], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32' && command === 'npm',
    // JOBS makes the compiler of the native package use every core.
    env: { JOBS: 'max', ...process.env, ...nodeHeaders() },
  })
  if (error) throw new Error(`npm can not be run (${error.message}). It comes with Node.js.`)
  if (status !== 0) throw new Error(`"npm ${args.join(' ')}" failed.\n${compilerHint()}`)
}

/**
 * The folder of this Node's C++ headers, if they were installed with it. Otherwise npm downloads them, which fails
 * behind many firewalls.
 */
function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include/node/node.h')) && !process.env.npm_config_nodedir
    ? { npm_config_nodedir: prefix }
    : {}
}

/**
 * @param names Names of a program, the preferred one first.
 * @returns The absolute path of the first one that the PATH has, or undefined.
 */
export function findOnPath(names) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function compilerHint() {
  const missing = Object.entries({
    'Python 3': ['python3', 'python'],
    make: ['make', 'gmake'],
    'a C++ compiler': ['c++', 'g++', 'clang++'],
  }).filter(([, names]) => !findOnPath(names))
  return `
${NATIVE_PACKAGE} could not be compiled on this machine. It needs Python 3, make and a C++ compiler.
${
  missing.length && process.platform !== 'win32'
    ? `Not found here: ${missing.map(([tool]) => tool).join(', ')}. Install them and start again:`
    : 'They seem to be installed, so the lines above have the reason. To install them:'
}
  Debian, Ubuntu   apt-get install -y python3 make g++
  Fedora, RHEL     dnf install -y python3 make gcc-c++
  Alpine           apk add python3 make g++
  Arch             pacman -S python make gcc
  macOS            xcode-select --install
  Windows          Visual Studio Build Tools with "Desktop development with C++", and Python 3`
}
