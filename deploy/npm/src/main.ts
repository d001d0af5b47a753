/**
 * `npx pnpm --filter @svc/npm build`: packs the packages of `packages.ts` into `deploy/npm/packed`, ready for `npm publish`.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPackage } from './build.ts'
import { OWNER, PACKAGES, PLACEHOLDER } from './packages.ts'

const PACKED = fileURLToPath(new URL('../packed', import.meta.url))

rmSync(PACKED, { recursive: true, force: true })
for (const published of PACKAGES) {
  const folder = join(PACKED, published.name.replace('/', '-').replace('@', ''))
  const { dependencies } = buildPackage(published, folder)
  mkdirSync(PACKED, { recursive: true })
  const file = execFileSync('npm', ['pack', '--silent', '--pack-destination', PACKED], {
    cwd: folder,
    encoding: 'utf8',
  })
  console.log(`${file.trim()}: needs ${Object.keys(dependencies).join(', ')}`)
}
const open = Object.entries(OWNER).filter(([, value]) => value.startsWith(PLACEHOLDER))
if (open.length > 0) {
  const names = open.map(([name]) => name).join(' and ')
  console.log(`npm will refuse to publish: ${names} in deploy/npm/src/packages.ts are still to be chosen by the owner`)
}
