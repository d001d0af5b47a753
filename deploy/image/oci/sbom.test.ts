import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBuild } from '@svc/build/find.ts'
import { expect, test } from 'vitest'
import { readLock } from './lock.ts'
import { makeSbom } from './sbom.ts'

const IMAGE = { name: 'svc', version: '2.0.0', digest: `sha256:${'a'.repeat(64)}`, created: '2026-01-01T00:00:00.000Z' }

test('the bill of materials of this build names what runs and not what builds or tests it', async () => {
  const packages = JSON.parse(readFileSync(join(await findBuild(), 'packages.json'), 'utf8'))
  // It fails if CycloneDX's validator finds a mistake.
  const text = await makeSbom(IMAGE, { lock: readLock(), architectures: ['amd64', 'arm64'], packages })
  const purls = JSON.parse(text).components.map(({ purl }: { purl: string }) => purl.replace(/@[\d.]+(?=$|\?)/, ''))
  expect(purls).toEqual(
    expect.arrayContaining([
      'pkg:npm/fastify',
      'pkg:npm/%40noble/ed25519',
      'pkg:npm/preact',
      'pkg:npm/sodium-native',
      'pkg:npm/swagger-ui-dist',
      'pkg:generic/node?arch=arm64',
      'pkg:generic/openssl',
      expect.stringMatching(/^pkg:generic\/v8@/),
      expect.stringMatching(/^pkg:deb\/debian\/libstdc%2B%2B6@14.+\?arch=amd64&distro=debian-13$/),
    ]),
  )
  expect(purls.filter((purl: string) => /vitest|esbuild|typescript|playwright|kubernetes/.test(purl))).toEqual([])
})
