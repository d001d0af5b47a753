import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)

/** Limits files to 8 KiB, which simulates a disk that is almost full. */
function writeOnFullDisk(module: string, call: string): Promise<unknown> {
  const script = `import * as files from '${fileURLToPath(new URL(module, import.meta.url))}'\n${call}`
  const command = 'ulimit -f 8 && exec "$0" "$@"'
  return run('bash', ['--norc', '-c', command, process.execPath, '--input-type=module', '-e', script])
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-durable-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test.runIf(process.platform !== 'win32')('if the disk takes only a part of a file, the old file stays', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'file')
  writeDurably(path, 'old')
  const written = writeOnFullDisk(
    '../../../sdk/src/store/durable-file.ts',
    `files.writeDurably('${path}', 'x'.repeat(20_000))`,
  )
  await expect(written).rejects.toThrow(`${path} cannot be written`)
  expect(readFileSync(path, 'utf8')).toBe('old')
  expect(readdirSync(folder)).toEqual(['file'])
})

test.runIf(process.platform !== 'win32')('if the disk takes only a part of a secret, there is no file', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'secret')
  const written = writeOnFullDisk('./key-file.ts', `files.writeSecretFile('${path}', 'x'.repeat(20_000))`)
  await expect(written).rejects.toThrow(`${path} cannot be written`)
  expect(readdirSync(folder)).toEqual([])
})

/** As on exFAT, on Android and on some mounts. */
const POOR = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { fsyncSync } = fs
const refuse = (code) => { throw Object.assign(new Error(code), { code }) }
fs.linkSync = () => refuse('EPERM')
fs.fsyncSync = (file) => fs.fstatSync(file).isDirectory() ? refuse('EINVAL') : fsyncSync(file)
syncBuiltinESMExports()
`

test('a file system without hard links, which cannot sync folders, is enough', async () => {
  const folder = temporaryFolder()
  const url = (module: string): string => JSON.stringify(new URL(module, import.meta.url).href)
  const script = `${POOR}
    const { writeDurably } = await import(${url('../../../sdk/src/store/durable-file.ts')})
    const { writeSecretFile } = await import(${url('./key-file.ts')})
    const { lockFolder } = await import(${url('../../../sdk/src/store/folder-lock.ts')})
    process.chdir(${JSON.stringify(folder)})
    writeDurably('kept', 'one')
    writeSecretFile('secret', 'two')
    const told = []
    for (const attempt of [() => writeSecretFile('secret', 'three'), () => lockFolder('state')]) {
      using _lock = lockFolder('state')
      try { attempt() } catch ({ message }) { told.push(message) }
    }
    console.log(told.join('\\n'))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  expect(stdout).toMatch(/^secret exists already and is not overwritten\nprocess \d+ already uses state: /)
  expect(readFileSync(join(folder, 'kept'), 'utf8')).toBe('one')
  expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('two')
  expect(statSync(join(folder, 'secret')).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).toSorted()).toEqual(['kept', 'secret', 'state'])
  expect(readdirSync(join(folder, 'state'))).toEqual([])
})
