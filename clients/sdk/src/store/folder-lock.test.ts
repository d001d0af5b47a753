import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockFolder } from './folder-lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('one process at a time holds the lock, and then frees it', () => {
  const held = lockFolder(folder)
  expect(() => lockFolder(folder)).toThrow(`process ${process.pid} already uses ${folder}`)
  held[Symbol.dispose]()
  lockFolder(folder)[Symbol.dispose]()
})

test.each([
  ['of a process that is gone', '4194304 boot 1\n'],
  // Only Linux tells when a process started.
  ...(process.platform === 'linux' ? [['of an earlier process with this id', `${process.pid} boot 1\n`] as const] : []),
  ['that is damaged', ''],
  ['that is empty', undefined],
] as const)('a lock %s is void', (_, text) => {
  mkdirSync(join(folder, 'locked'))
  if (text !== undefined) writeFileSync(join(folder, 'locked/holder'), text)
  {
    using _lock = lockFolder(folder)
    expect(readFileSync(join(folder, 'locked/holder'), 'utf8')).toContain(String(process.pid))
  }
  expect(readdirSync(folder)).toEqual([])
})

test.runIf(process.platform === 'linux')(
  'a lock of a killed process is void before its parent has noticed',
  async () => {
    // The shell becomes a program that never takes the exit code of its child.
    const script = 'sleep 60 & echo $!; exec sleep 61'
    const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] })
    const procOf = (pid: unknown, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8')
    try {
      const [text] = (await once(parent.stdout, 'data')) as [Buffer]
      const child = Number(text.toString())
      while (procOf(parent.pid, 'comm') !== 'sleep\n') await setTimeout(10)
      process.kill(child, 'SIGKILL')
      const stat = () => procOf(child, 'stat').split(' ')
      while (stat()[2] !== 'Z') await setTimeout(10)
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
      mkdirSync(join(folder, 'locked'))
      writeFileSync(join(folder, 'locked/holder'), `${child} ${boot} ${stat()[21]}\n`)
      lockFolder(folder)[Symbol.dispose]()
    } finally {
      parent.kill('SIGKILL')
      await once(parent, 'exit')
    }
  },
)

test('the error for a folder that is not writable is one sentence', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => lockFolder(join(folder, 'file/folder'))).toThrow('cannot be locked: not a directory')
})
