/**
 * Makes the package that is published, from the sources of the SDK and of the workspace packages it uses, which are not
 * published by themselves: they are copied side by side, their imports of each other made relative, and tsc does the
 * rest. What it imports from elsewhere become the package's dependencies, at the versions installed here.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const SDK = fileURLToPath(new URL('..', import.meta.url))
const LIBS = dirname(SDK.replace(/\/$/, ''))
const ROOT = dirname(LIBS)
/** The SDK and what it uses, down to the leaves. */
const PARTS = ['sdk', 'envelope', 'svc1', 'contracts']
const ENTRY = 'sdk/public-api'
const WORKSPACE_IMPORT = /'@svc\/([a-z0-9-]+)\/([^']+\.ts)'/g
const IMPORT = /\b(?:from|import)\s*\(?\s*['"]([@\w.][\w@./-]*)['"]/g

interface Manifest {
  version: string
  dependencies?: Record<string, string>
}

/**
 * Builds the package into `outDir`, which is emptied first: `package.json`, `README.md`, and modules with their types.
 * @returns the names of the packages it depends on.
 * @throws Error with tsc's output where the sources do not compile for browsers.
 */
export function buildPackage(outDir: string): string[] {
  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  // inside the package, so that nothing is found but what is linked here
  const staging = mkdtempSync(join(SDK, '.build-'))
  try {
    const installed = linkDependencies(join(staging, 'node_modules'))
    for (const part of PARTS) copySources(part, staging)
    compile(staging, outDir)
    const used = importedPackages(outDir)
    const dependencies = Object.fromEntries(
      used.map((name) => {
        const version = installed.get(name)
        if (version === undefined) throw new Error(`${name} is imported, but no part of the SDK depends on it`)
        return [name, `^${version}`]
      }),
    )
    writeFileSync(join(outDir, 'package.json'), `${JSON.stringify(publishedManifest(dependencies), null, 2)}\n`)
    cpSync(join(SDK, 'README.md'), join(outDir, 'README.md'))
    return used
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Links what the parts depend on into one folder. @returns versions by name. */
export function linkDependencies(folder: string): Map<string, string> {
  const installed = new Map<string, string>()
  for (const part of PARTS) {
    for (const name of Object.keys(readManifest(join(LIBS, part)).dependencies ?? {})) {
      if (name.startsWith('@svc/') || installed.has(name)) continue
      const target = join(LIBS, part, 'node_modules', name)
      installed.set(name, readManifest(target).version)
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      symlinkSync(target, join(folder, name), 'dir')
    }
  }
  return installed
}

function copySources(part: string, staging: string): void {
  const from = join(LIBS, part, 'src')
  for (const file of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    const to = join(staging, part, file)
    const source = readFileSync(join(from, file), 'utf8').replace(
      WORKSPACE_IMPORT,
      (_, other: string, path: string) => {
        const target = relative(dirname(to), join(staging, other, path))
        return `'${target.startsWith('.') ? target : `./${target}`}'`
      },
    )
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, source)
  }
}

function compile(staging: string, outDir: string): void {
  const declarations = readdirSync(staging, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.d.ts') && !file.startsWith('node_modules'),
  )
  const config = join(staging, 'tsconfig.json')
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(SDK, 'tsconfig.build.json'),
      compilerOptions: { rootDir: staging, outDir },
      files: [`${ENTRY}.ts`, ...declarations, join(SDK, 'build/platform.d.ts')],
    }),
  )
  try {
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config], { encoding: 'utf8' })
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    throw new Error(`the SDK does not compile for browsers:\n${output}`, { cause: error })
  }
}

function importedPackages(outDir: string): string[] {
  const names = new Set<string>()
  for (const file of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(js|d\.ts)$/.test(file)) continue
    for (const [, specifier = ''] of readFileSync(join(outDir, file), 'utf8').matchAll(IMPORT)) {
      if (specifier.startsWith('.')) continue
      names.add(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
    }
  }
  return [...names].sort()
}

function publishedManifest(dependencies: Record<string, string>): object {
  return {
    name: '@svc/sdk',
    version: readManifest(SDK).version,
    description: 'Client of the Signed Agent Messaging Service, for Node and browsers',
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20.19' },
    exports: { '.': { types: `./${ENTRY}.d.ts`, default: `./${ENTRY}.js` } },
    types: `./${ENTRY}.d.ts`,
    dependencies,
  }
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

if (import.meta.main) {
  const outDir = join(SDK, 'dist')
  const used = buildPackage(outDir)
  console.log(`${relative(process.cwd(), outDir)}: needs ${used.join(', ')}`)
}
