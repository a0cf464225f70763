// Runs a TypeScript program of this folder, or every program of a folder, one after another:
//
//   node e2e/run.mjs e2e/soak.ts --seed 7
//   node e2e/run.mjs e2e/bench             (npm run bench)
//   node e2e/run.mjs e2e/bench load        only e2e/bench/load.ts
//
// Build first: the programs use the built files. A program that starts another one starts it by this file too.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { register } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [path, ...args] = process.argv.slice(2)
if (!path || !existsSync(path)) fail(`There is no ${path}. Give a .ts file, or a folder of them.`)
if (statSync(path).isDirectory()) runFolder(path)
else {
  register('./typescript.mjs', import.meta.url)
  // As if Node itself had started the program.
  process.argv = [process.execPath, resolve(path), ...args]
  await import(pathToFileURL(resolve(path)).href)
}

/** Runs each program in its own process, so that one measurement does not warm up the next. */
function runFolder(folder) {
  const programs = readdirSync(folder).filter((file) => /^\w+\.ts$/.test(file))
  const chosen = programs.filter((file) => !args.length || args.includes(basename(file, '.ts')))
  if (!chosen.length) fail(`Nothing to run. ${folder} contains: ${programs.join(', ') || 'none'}`)
  for (const file of chosen) {
    console.log(`\n── ${join(folder, file)} ──`)
    const command = ['--enable-source-maps', process.argv[1], join(folder, file)]
    const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
