/** Bundles the console for browsers, and compresses what the gateway will serve. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { ROOT } from './sources.ts'

const FOLDER = join(ROOT, 'clients/console')
/** Where the gateway serves the files. */
const SERVED_UNDER = '/console/'

/** Browsers of the last two years. They have WebCrypto, Web Locks and `using` after compilation. */
const TARGET = ['chrome123', 'firefox128', 'safari17.4']

const COMMON: BuildOptions = {
  absWorkingDir: FOLDER,
  bundle: true,
  minify: true,
  format: 'esm',
  target: TARGET,
  metafile: true,
  write: false,
  outdir: 'out',
  // The name changes with the content, so browsers may keep a file for ever.
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  publicPath: SERVED_UNDER,
  // The code must be the same without the files of tsc.
  tsconfigRaw: '{}',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'silent',
}

interface Output {
  readonly name: string
  readonly content: Buffer
}

/** @returns what the console is made of. @throws Error with the bundler's message if the sources are wrong. */
export async function buildConsole(folder: string): Promise<Metafile['outputs']> {
  mkdirSync(folder, { recursive: true })
  const worker = await build({ ...COMMON, entryPoints: ['src/work/worker.ts'] })
  const [workerFile] = outputs(worker.outputFiles)
  if (workerFile === undefined) throw new Error('the bundler made no file of the worker')
  const define = { ...COMMON.define, WORKER_URL: JSON.stringify(SERVED_UNDER + workerFile.name) }
  const page = await build({ ...COMMON, define, entryPoints: ['src/main.tsx'], splitting: true })
  const html = pageFrom(readFileSync(join(FOLDER, 'index.html'), 'utf8'), firstOf(page.metafile))
  const files = [{ name: 'index.html', content: Buffer.from(html) }, workerFile, ...outputs(page.outputFiles)]
  await Promise.all(files.map((file) => write(folder, file)))
  return { ...worker.metafile?.outputs, ...page.metafile?.outputs }
}

function outputs(files: readonly { path: string; contents: Uint8Array }[] | undefined): Output[] {
  return (files ?? []).map(({ path, contents }) => ({ name: basename(path), content: Buffer.from(contents) }))
}

/** Names of the files that load before the page shows anything: the entry, its style sheet, and what the entry imports statically. */
function firstOf(metafile: Metafile | undefined): string[] {
  const made = metafile?.outputs ?? {}
  const entry = Object.entries(made).find(([, { entryPoint }]) => entryPoint === 'src/main.tsx')
  if (entry === undefined) throw new Error('the bundler made no file of src/main.tsx')
  const found = new Set<string>()
  const waiting = [entry[0]]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    found.add(path)
    const { imports = [], cssBundle } = made[path] ?? {}
    waiting.push(...imports.filter(({ kind }) => kind === 'import-statement').map((one) => one.path))
    if (cssBundle !== undefined) waiting.push(cssBundle)
  }
  return [...found].map((path) => basename(path))
}

/** Puts the hashed names into `index.html`: its script, its style sheet, and hints for the rest of the first screen. */
function pageFrom(template: string, first: readonly string[]): string {
  const tag = '<script type="module" src="main.js"></script>'
  if (!template.includes(tag)) throw new Error(`index.html must contain ${tag}`)
  const [entry = '', ...rest] = first
  const styles = rest
    .filter((name) => name.endsWith('.css'))
    .map((name) => `<link rel="stylesheet" href="${SERVED_UNDER}${name}">`)
  const preloads = rest
    .filter((name) => name.endsWith('.js'))
    .map((name) => `<link rel="modulepreload" href="${SERVED_UNDER}${name}">`)
  const script = `<script type="module" src="${SERVED_UNDER}${entry}"></script>`
  return template.replace(tag, () => [...styles, ...preloads, script].join('\n    '))
}

/** Writes a file, and what the gateway sends to browsers that accept a compressed one. */
async function write(folder: string, { name, content }: Output): Promise<void> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  }
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content, { level: 9 }),
  ])
  writeFileSync(join(folder, name), content)
  writeFileSync(join(folder, `${name}.br`), br)
  writeFileSync(join(folder, `${name}.gz`), gz)
}
