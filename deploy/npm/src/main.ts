/**
 * `npx pnpm --filter @svc/npm build`: packs into `deploy/npm/packed` the packages of `packages.ts`, ready for `npm publish`, the Claude
 * plugin, the MCP bundle, and `server.json` for the registry of MCP servers.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SERVICE } from '@svc/contracts/limits.ts'
import { buildPackage, versionOf } from './build.ts'
import { buildBundle, buildPlugin } from './extensions.ts'
import { serverJson } from './listings.ts'
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
const cli = PACKAGES.find(({ mcpName }) => mcpName !== undefined)
if (cli === undefined) throw new Error('no package has the server')
const version = versionOf(cli.folder)
await buildPlugin(cli, version, join(PACKED, 'plugin'))
await buildBundle(cli, version, join(PACKED, `${SERVICE.name}-${version}.mcpb`))
writeFileSync(join(PACKED, 'server.json'), `${JSON.stringify(serverJson({ name: cli.name, version }), null, 2)}\n`)
console.log(`plugin, ${SERVICE.name}-${version}.mcpb and server.json`)
const open = Object.entries(OWNER).filter(([, value]) => value.startsWith(PLACEHOLDER))
if (open.length > 0) {
  const names = open.map(([name]) => name).join(', ')
  console.log(`npm will refuse to publish: ${names} in deploy/npm/src/packages.ts are still to be chosen by the owner`)
}
