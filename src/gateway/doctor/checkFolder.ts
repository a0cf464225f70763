import { accessSync, constants, existsSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { error, type Found, note, ok, warning } from './finding.ts'

const OTHERS = 0o077
const DATABASE = /^[\w-]{1,40}\.db(-wal|-shm)?$/

/** The data folder: exists, can be written, belongs to this user, and nobody else can read it. */
export function checkFolder(folder: string, uid = process.getuid?.()): Found[] {
  const stats = statSync(folder, { throwIfNoEntry: false })
  if (!stats) return [checkMissing(folder)]
  if (!stats.isDirectory())
    return [error(`DATA_DIR ${folder} is not a folder`, 'Choose another folder: DATA_DIR=./data')]
  const found: Found[] = []
  if (!isWritable(folder))
    found.push(
      error(
        `This user (${uid}) may not write in ${folder}, which belongs to user ${stats.uid}`,
        `Run the gateway and doctor as its owner, or give it to this user: chown -R ${uid} ${folder}`,
      ),
    )
  if (uid === undefined) return found.length > 0 ? found : [ok(`${folder} can be written`)]
  const files: [string, Stats][] = readdirSync(folder)
    .filter((name) => DATABASE.test(name))
    .flatMap((name) => {
      const file = statSync(join(folder, name), { throwIfNoEntry: false })
      return file ? [[name, file] as [string, Stats]] : []
    })
  const foreign = files.filter(([, file]) => file.uid !== stats.uid).map(([name]) => name)
  if (foreign.length > 0)
    found.push(
      error(
        `${foreign.join(', ')} in ${folder} does not belong to the owner of the folder (user ${stats.uid}). A command was run as another user, such as root`,
        `chown ${stats.uid}:${stats.gid} ${foreign.map((name) => join(folder, name)).join(' ')}`,
      ),
    )
  if (stats.mode & OTHERS)
    found.push(
      warning(`Other users of this machine may look into ${folder}`, `chmod 700 ${folder}`),
    )
  const open = files.filter(([, file]) => file.mode & OTHERS).map(([name]) => name)
  if (open.length > 0)
    found.push(
      warning(
        `Other users of this machine may read ${open.join(', ')} in ${folder}`,
        `chmod 600 ${open.map((name) => join(folder, name)).join(' ')}`,
      ),
    )
  return found.length > 0 ? found : [ok(`${folder} can be written, and only by user ${stats.uid}`)]
}

function checkMissing(folder: string): Found {
  let parent = dirname(folder)
  while (!existsSync(parent)) parent = dirname(parent)
  return isWritable(parent)
    ? note(
        `DATA_DIR ${folder} does not exist. The first start creates it`,
        'If the gateway was started before, this is another folder, or a disk is not mounted. Set DATA_DIR to the whole path',
      )
    : error(
        `DATA_DIR ${folder} does not exist, and this user may not create it in ${parent}`,
        `Create it: install -d -m 700 -o USER ${folder}`,
      )
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
