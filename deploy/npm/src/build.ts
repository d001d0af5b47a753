/**
 * Builds a package for npm. Copies the workspace files that its entries reach side by side, makes their imports of each
 * other relative, and lets tsc produce modules, types and source maps. The package does not depend on the workspace.
 * Imports of external packages become its dependencies, at the versions installed here.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OWNER, PACKAGES, PLACEHOLDER, type Published } from './packages.ts'
import { ambientDeclarations, collectSources, importedPackages, packageFolder, pathOf } from './sources.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
/** The newest language version that every supported Node and browser runs. */
const TARGET = 'es2022'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Record<string, string>
}

interface Built {
  readonly folder: string
  readonly dependencies: Readonly<Record<string, string>>
}

/**
 * Builds a package into a folder, which is emptied first: `package.json`, `README.md`, `dist` and the folders of its data.
 * @throws Error with the compiler's message if the sources do not compile for the package's platform.
 */
export function buildPackage(published: Published, folder: string): Built {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  // Inside the repository, so that only the packages linked here are found.
  const staging = mkdtempSync(join(ROOT, 'deploy/npm/.build-'))
  try {
    const main = [...Object.values(published.exports), ...Object.values(published.bin)]
    const node = Object.values(published.node)
    const sources = collectSources([...main, ...node])
    for (const [module, text] of sources) write(join(staging, 'src', module), text)
    const declarations = ambientDeclarations(sources.keys(), listFiles)
    for (const module of declarations) cpSync(pathOf(module), join(staging, 'src', module), { recursive: true })
    const dependencies = linkDependencies(
      [...sources.keys()].map((module) => module.split('/')[0] ?? ''),
      importedPackages(sources.values()),
      join(staging, 'node_modules'),
      published.engines,
    )
    compile(staging, { entries: main, browser: published.browser }, declarations)
    if (node.length > 0) compile(staging, { entries: node, browser: false }, declarations)
    nameModules(join(staging, 'dist'))
    cpSync(join(staging, 'dist'), join(folder, 'dist'), { recursive: true })
    for (const [name, from] of Object.entries(published.data ?? {}))
      cpSync(join(ROOT, from), join(folder, name), { recursive: true })
    for (const module of Object.values(published.bin)) chmodSync(join(folder, outputOf(module, 'js')), 0o755)
    write(join(folder, 'README.md'), readmeOf(published))
    write(join(folder, 'package.json'), `${JSON.stringify(manifestOf(published, dependencies), null, 2)}\n`)
    return { folder, dependencies }
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/**
 * Links packages from the libs that declare them.
 * @returns the versions to depend on.
 * @throws Error if one needs a newer Node than `engines` of this package.
 */
function linkDependencies(libs: string[], names: string[], folder: string, engines: string): Record<string, string> {
  const versions: Record<string, string> = {}
  for (const name of names) {
    const declaring = libs.find((lib) => readManifest(packageFolder(lib)).dependencies?.[name] !== undefined)
    if (declaring === undefined) throw new Error(`${name} is imported, but no lib of the package depends on it`)
    const target = join(packageFolder(declaring), 'node_modules', name)
    const { version, engines: { node = '>=0' } = {} } = readManifest(target)
    if (floorOf(node) > floorOf(engines)) throw new Error(`${name} needs Node ${node}, but the package says ${engines}`)
    versions[name] = `^${version}`
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    symlinkSync(target, join(folder, name), 'dir')
  }
  return versions
}

/** `>=22.12` as a number. Every dependency writes its range in this form. */
function floorOf(range: string): number {
  const [, major, minor = '0'] = /^>= ?(\d+)(?:\.(\d+))?(?:\.\d+)?$/.exec(range) ?? []
  if (major === undefined) throw new Error(`the range ${range} of Node is not of the form >=22.12`)
  return Number(major) * 1_000 + Number(minor)
}

function compile(
  staging: string,
  { entries, browser }: { entries: readonly string[]; browser: boolean },
  declarations: string[],
): void {
  const config = join(staging, 'tsconfig.json')
  const platform = browser ? [join(ROOT, 'deploy/npm/browser.d.ts')] : []
  const lib = [
    'es2024',
    'esnext.disposable',
    ...(browser ? ['dom', 'dom.iterable', 'dom.asynciterable'] : ['esnext.typedarrays']),
  ]
  const compilerOptions = {
    target: TARGET,
    lib,
    types: browser ? [] : ['node'],
    ...(browser ? {} : { typeRoots: [join(ROOT, 'node_modules/@types')] }),
    noEmit: false,
    declaration: true,
    sourceMap: true,
    // The maps contain the sources, so debuggers need no other files.
    inlineSources: true,
    rootDir: join(staging, 'src'),
    outDir: join(staging, 'dist'),
  }
  const modules = entries.map((module) => `src/${module.replace('@svc/', '')}.ts`)
  const files = [...modules, ...declarations.map((module) => `src/${module}`), ...platform]
  write(config, JSON.stringify({ extends: join(ROOT, 'tsconfig.base.json'), compilerOptions, files }))
  try {
    execFileSync(process.execPath, [TSC, '-p', config], { encoding: 'utf8' })
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    throw new Error(`the package does not compile:\n${output}`, { cause: error })
  }
}

/** tsc rewrites module names in code, but not in declarations. */
function nameModules(folder: string): void {
  for (const file of listFiles(folder)) {
    if (!file.endsWith('.d.ts')) continue
    const text = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(folder, file), text.replace(/(\bfrom |\bimport\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2'))
  }
}

function manifestOf(
  { name, description, folder, exports, node, bin, engines, browser, mcpName, data = {} }: Published,
  dependencies: object,
): object {
  const owned = Object.values(OWNER).every((value) => !value.startsWith(PLACEHOLDER))
  const main = exports['.']
  const entries = Object.entries({ ...exports, ...node }).map(([entry, module]) => [
    entry,
    { types: outputOf(module, 'd.ts'), default: outputOf(module, 'js') },
  ])
  return {
    name,
    version: versionOf(folder),
    description,
    ...(mcpName === undefined ? {} : { mcpName }),
    ...(owned ? {} : { private: true }),
    author: OWNER.author,
    license: OWNER.licence,
    repository: { type: 'git', url: OWNER.repository, directory: folder },
    type: 'module',
    ...(browser ? { sideEffects: false } : {}),
    engines: { node: engines },
    files: ['dist', ...Object.keys(data)],
    exports: { ...Object.fromEntries(entries), './package.json': './package.json' },
    ...(main === undefined ? {} : { types: outputOf(main, 'd.ts') }),
    ...(Object.keys(bin).length === 0
      ? {}
      : { bin: Object.fromEntries(Object.entries(bin).map(([command, module]) => [command, outputOf(module, 'js')])) }),
    dependencies,
  }
}

/** Its package names are those of the workspace. */
function readmeOf({ folder }: Published): string {
  const text = readFileSync(join(ROOT, folder, 'README.md'), 'utf8')
  return PACKAGES.reduce((said, { folder, name }) => said.replaceAll(readManifest(join(ROOT, folder)).name, name), text)
}

function outputOf(module: string, extension: string): string {
  return `./dist/${module.replace('@svc/', '')}.${extension}`
}

function listFiles(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** @param folder in this repository. */
export function versionOf(folder: string): string {
  return readManifest(join(ROOT, folder)).version
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
