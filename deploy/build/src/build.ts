import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole } from './console.ts'
import { foldersOf, readPackage } from './packages.ts'
import { buildPackages, buildPrograms } from './programs.ts'
import { ROOT } from './sources.ts'

/**
 * Builds what is started, tested and shipped into an empty or missing folder: one module for each program, the SQL of each service, the
 * console, the few packages that cannot be bundled, and the list of all packages. The same sources give the same bytes.
 * @param platform of the native binding, such as `linux-arm64`.
 */
export async function buildInto(folder: string, platform = `${process.platform}-${process.arch}`): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ name: 'svc', version, type: 'module' })}\n`)
  copy(folder, 'services/gateway/src/api/reference')
  for (const service of readdirSync(join(ROOT, 'services'))) copy(folder, `services/${service}/database`)
  const [programs, others, page] = await Promise.all([
    buildPrograms(folder),
    buildPackages(folder, platform),
    buildConsole(join(folder, 'clients/console/built')),
  ])
  const packages = new Set([...foldersOf(programs), ...foldersOf(page), ...others])
  const lines = [...packages].map((found) => JSON.stringify(readPackage(found)))
  writeFileSync(join(folder, 'packages.json'), `[\n${lines.toSorted().join(',\n')}\n]\n`)
}

function copy(folder: string, path: string): void {
  if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
}
