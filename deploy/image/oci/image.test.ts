import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lacks } from '@svc/test/support/run/lacks.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { writeLayer } from './layer.ts'
import { writeLayout } from './layout.ts'

const FACTS = { created: '2026-01-01T00:00:00.000Z', tag: '1', config: { User: '1:1' }, labels: { made: 'by a test' } }
const hasGnuTar = spawnSync('tar', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU tar') === true
const folder = mkdtempSync(join(tmpdir(), 'image-test-'))
let made = 0
afterAll(() => rmSync(folder, { recursive: true }))

interface Made {
  /** Permissions of files and folders. */
  readonly mode: number
  readonly seconds: number
  readonly names: readonly string[]
  readonly linked: boolean
  readonly text: string
}

const PLAIN: Made = { mode: 0o644, seconds: 1, names: ['a', 'b'], linked: false, text: 'same' }

/** @returns the digest of an image with one small layer. */
async function digestOf({ mode, seconds, names, linked, text }: Made): Promise<string> {
  made += 1
  const root = join(folder, `root-${made}`)
  const layout = join(folder, `layout-${made}`)
  mkdirSync(join(root, 'in'), { recursive: true, mode: mode | 0o111 })
  mkdirSync(layout)
  for (const name of names) writeFileSync(join(root, 'in', name), text)
  if (linked) {
    rmSync(join(root, 'in/b'))
    linkSync(join(root, 'in/a'), join(root, 'in/b'))
  }
  for (const name of names) {
    chmodSync(join(root, 'in', name), mode)
    utimesSync(join(root, 'in', name), seconds, seconds)
  }
  symlinkSync('in/a', join(root, 'link'))
  const layer = join(layout, 'layer.tar')
  await writeLayer(root, layer, 1_700_000_000)
  return writeLayout(layout, [{ architecture: 'arm64', layers: [layer] }], FACTS)
}

describe.skipIf(lacks(hasGnuTar ? undefined : 'an image needs GNU tar'))('an image', () => {
  test.each<[string, Partial<Made>]>([
    ['another time', { seconds: 999 }],
    ['another umask', { mode: 0o600 }],
    ['creation in another order', { names: ['b', 'a'] }],
    ['hard-linked files', { linked: true }],
  ])('has the same digest with %s', async (_, other) => {
    expect(await digestOf({ ...PLAIN, ...other })).toBe(await digestOf(PLAIN))
  })

  test.each<[string, Partial<Made>]>([
    ['another content', { text: 'other' }],
    ['another file', { names: ['a', 'b', 'c'] }],
    ['an executable file', { mode: 0o755 }],
  ])('has another digest with %s', async (_, other) => {
    expect(await digestOf({ ...PLAIN, ...other })).not.toBe(await digestOf(PLAIN))
  })

  test('is a layout whose file names are the hashes of their contents', async () => {
    await digestOf(PLAIN)
    const layout = join(folder, `layout-${made}`)
    const { stdout } = spawnSync('sha256sum', ['-z', ...readIndex(layout)], {
      cwd: join(layout, 'blobs/sha256'),
      encoding: 'utf8',
    })
    for (const line of stdout.split('\0').filter(Boolean)) expect(line.split('  ')[0]).toBe(line.split('  ')[1])
    expect(stdout.split('\0').filter(Boolean)).toHaveLength(4)
  })
})

/** The index, the manifest, the configuration and the layer. */
function readIndex(layout: string): string[] {
  const read = (digest: string) => JSON.parse(readFileSync(join(layout, 'blobs/sha256', digest.slice(7)), 'utf8'))
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))
  const index = manifests[0].digest
  const manifest = read(index).manifests[0].digest
  const { config, layers } = read(manifest)
  return [index, manifest, config.digest, layers[0].digest].map((digest: string) => digest.slice(7))
}
