import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type DebianPackage, downloadPackages } from './debian.ts'

const hash = (name: string): string => createHash(name).update('the package').digest('hex')
const PACKAGE: DebianPackage = {
  ...{ name: 'libc6', version: '2.41-12', path: 'debian/pool/main/g/glibc/libc6_2.41-12_amd64.deb' },
  ...{ sha1: hash('sha1'), sha256: hash('sha256') },
}
const IN_ARCHIVE = `http://deb.debian.org/${PACKAGE.path}`
const IN_THE_PAST = `https://snapshot.debian.org/file/${PACKAGE.sha1}`

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'debian-test-'))
})
afterEach(() => {
  vi.unstubAllGlobals()
  rmSync(folder, { recursive: true })
})

/** Servers of Debian that have these texts. Nobody answers at `snapshot.debian.org` if it has none. */
function serve(texts: Readonly<Record<string, string>>): void {
  vi.stubGlobal('fetch', async (url: string) => {
    if (texts[url] !== undefined) return new Response(texts[url])
    if (url === IN_ARCHIVE) return new Response('', { status: 404 })
    throw new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND') })
  })
}

test.each<[string, Record<string, string>]>([
  ['the archive', { [IN_ARCHIVE]: 'the package' }],
  ['the past of the archive, if Debian has replaced it', { [IN_THE_PAST]: 'the package' }],
  ['the past, if the archive has another file', { [IN_ARCHIVE]: 'another', [IN_THE_PAST]: 'the package' }],
])('a locked package comes from %s', async (_, texts) => {
  serve(texts)
  await downloadPackages(folder, [PACKAGE])
  expect(readFileSync(join(folder, `${PACKAGE.sha256}.deb`), 'utf8')).toBe('the package')
})

test('a package that nobody has is an error that says what to do', async () => {
  serve({})
  const failure = downloadPackages(folder, [PACKAGE])
  await expect(failure).rejects.toThrow('libc6 2.41-12, which lock.json names, cannot be downloaded')
  await expect(failure).rejects.toThrow(`${IN_ARCHIVE}: status 404`)
  await expect(failure).rejects.toThrow(`${IN_THE_PAST}: Error: getaddrinfo ENOTFOUND`)
  await expect(failure).rejects.toThrow('run npx pnpm image --lock')
})

test('a file with another content is refused', async () => {
  serve({ [IN_ARCHIVE]: 'forged', [IN_THE_PAST]: 'forged' })
  await expect(downloadPackages(folder, [PACKAGE])).rejects.toThrow('its content is not the locked one')
})
