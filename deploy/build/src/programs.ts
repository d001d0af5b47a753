/** Bundles every program into one module. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix, relative } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { foldersOf } from './packages.ts'
import { ROOT } from './sources.ts'

/** What a person or a container starts, by name: `node <folder>/<name>.js`. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['boards', 'budget', 'gateway', 'identity', 'messaging', 'stream', 'webhook'].map((service) => [
      service,
      `services/${service}/src/main.ts`,
    ]),
  ),
  ...Object.fromEntries(
    ['health', 'migrate', 'roles', 'secrets'].map((command) => [command, `deploy/image/src/${command}.ts`]),
  ),
  svc: 'clients/cli/src/main.ts',
}

/** Modules that a program starts as a thread or as a process. */
const PARTS: Readonly<Record<string, string>> = {
  'verify-books': 'deploy/image/src/verify-books.ts',
  'verify-thread': 'services/gateway/src/auth/verify-thread.ts',
}
const STARTER = { starter: 'deploy/build/src/starter.ts' }

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node24',
  write: false,
  metafile: true,
  // The code must be the same without the files of tsc.
  tsconfigRaw: '{}',
  logLevel: 'silent',
}

/** Modules find other files by `new URL('<path>', import.meta.url)`. In the build these files have the same path as in the repository. */
const keepPaths: Plugin = {
  name: 'keep-paths',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const folder = relative(ROOT, dirname(path)).replaceAll('\\', '/')
      const contents = readFileSync(path, 'utf8').replaceAll(
        /new URL\((['`])([^'`]+)\1, import\.meta\.url\)/g,
        (_, quote: string, to: string) =>
          `new URL(${quote}../${placeOf(posix.join(folder, to))}${quote}, import.meta.url)`,
      )
      return { contents, loader: 'ts' }
    })
  },
}

/** @throws Error if a program starts a module that is not in `PARTS`. */
function placeOf(path: string): string {
  if (!path.endsWith('.ts')) return path
  const part = Object.keys(PARTS).find((name) => PARTS[name] === path)
  if (part === undefined) throw new Error(`${path} must be in PARTS of deploy/build/src/programs.ts`)
  return `programs/${part}.js`
}

/** @returns what the modules are made of. */
export async function buildPrograms(folder: string): Promise<Metafile['outputs']> {
  for (const name of Object.keys(PROGRAMS))
    writeFileSync(join(folder, `${name}.js`), `import './programs/starter.js'\nawait import('./programs/${name}.js')\n`)
  return bundle({ ...PROGRAMS, ...PARTS, ...STARTER }, folder)
}

/**
 * Makes one module of each entry: `programs/<name>.js` and its source map in the folder.
 * @param entries modules, by name.
 * @param options for what runs elsewhere than the services.
 * @returns what the modules are made of.
 */
export async function bundle(
  entries: Readonly<Record<string, string>>,
  folder: string,
  options: Pick<BuildOptions, 'target' | 'splitting' | 'sourcemap'> = {},
): Promise<Metafile['outputs']> {
  mkdirSync(join(folder, 'programs'), { recursive: true })
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: entries,
    // The names in source maps are relative to this folder, wherever the build is.
    outdir: join(ROOT, 'programs'),
    format: 'esm',
    // Packages in CommonJS call `require`, which modules do not have.
    banner: {
      js: `import { createRequire as requireFor } from 'node:module'\nconst require = requireFor(import.meta.url)`,
    },
    sourcemap: true,
    sourcesContent: false,
    plugins: [keepPaths],
    ...options,
  })
  for (const { path, contents } of outputFiles ?? []) writeFileSync(join(folder, relative(ROOT, path)), contents)
  return metafile?.outputs ?? {}
}

/**
 * Packages that cannot be part of a module, because programs load them by name: a native binding, and files to serve.
 * @returns their folders.
 */
export async function buildPackages(folder: string, platform: string): Promise<string[]> {
  const sodium = dirname(createRequire(join(ROOT, 'libs/svc1/package.json')).resolve('sodium-native'))
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: [join(sodium, 'index.js')],
    format: 'cjs',
    plugins: [
      {
        name: 'binding',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\.\/binding$/ }, () => ({ path: './sodium-native.node', external: true })),
      },
    ],
  })
  const target = join(folder, 'node_modules/sodium-native')
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, 'index.js'), outputFiles?.[0]?.contents ?? '')
  copyFileSync(join(sodium, 'prebuilds', platform, 'sodium-native.node'), join(target, 'sodium-native.node'))

  const viewer = createRequire(join(ROOT, 'services/gateway/package.json'))
  const files = join(folder, 'node_modules/swagger-ui-dist')
  mkdirSync(files)
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js'])
    copyFileSync(viewer.resolve(`swagger-ui-dist/${name}`), join(files, name))
  return [...foldersOf(metafile?.outputs ?? {}), relative(ROOT, dirname(viewer.resolve('swagger-ui-dist')))]
}
