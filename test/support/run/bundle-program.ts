/**
 * `node bundle-program.ts <entry> <folder>`: bundles a program into one module, `<folder>/main.mjs`, for the processes that tests
 * start. A service has 500 to 1,000 modules, and Node needs three to four times as much CPU time to load them as to load one.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Modules find files, threads and packages relative to their source file, not to the bundle. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
}

const [entry = '', folder = ''] = process.argv.slice(2)
const own = `${folder}-${randomUUID()}`
mkdirSync(dirname(folder), { recursive: true })
const bundle = await rolldown({ input: join(ROOT, entry), platform: 'node', plugins: [keepUrls] })
await bundle.write({ dir: own, entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs', sourcemap: true })
try {
  renameSync(own, folder)
} catch (error) {
  // Another process finished the bundle first.
  if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
}
