import { mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder } from '../../test/gateway.ts'
import { prepareDataFolder } from './dataFolder.ts'

const folder = makeFolder()
writeFileSync(join(folder, 'file'), '')
symlinkSync(join(folder, 'nowhere'), join(folder, 'broken'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a missing folder is created with its parents, readable only by its owner; an existing one is used', () => {
  const deep = join(folder, 'a/b/c')
  prepareDataFolder(deep)
  prepareDataFolder(deep)
  expect(statSync(deep).mode & 0o777).toBe(0o700)
})

test.each<[string, string]>([
  ['file', 'it is not a folder'],
  ['file/below', 'it is not a folder'],
  ['broken', 'no folder can be created there'],
  // The recursive mkdir of node never returns there.
  ['/proc/x', ''],
])('%s can not be used, and is named', (path, reason) => {
  const dataDir = path.startsWith('/') ? path : join(folder, path)
  expect(() => prepareDataFolder(dataDir)).toThrow(`DATA_DIR ${dataDir} can not be used: ${reason}`)
})

test('a folder without write permission is an error that names it, except for root', () => {
  const closed = join(folder, 'closed')
  mkdirSync(closed, { mode: 0o500 })
  const prepare = () => prepareDataFolder(closed)
  if (process.getuid?.() === 0) expect(prepare).not.toThrow()
  else expect(prepare).toThrow(`${closed} can not be used: this process may not write there`)
})
