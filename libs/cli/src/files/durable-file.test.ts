import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { writeDurably } from './durable-file.ts'

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
  const written = writeOnFullDisk('./durable-file.ts', `files.writeDurably('${path}', 'x'.repeat(20_000))`)
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
