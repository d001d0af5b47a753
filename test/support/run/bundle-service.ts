/**
 * `node bundle-service.ts <service> <folder>`: bundles a service into one module, for the processes that tests start. A service has
 * 500 to 1,000 modules, and Node needs three to four times as much CPU time to load them as to load one.
 */
import { randomUUID } from 'node:crypto'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'

const SERVICES = fileURLToPath(new URL('../../../services', import.meta.url))

/** Modules find files, threads and packages relative to their source file, not to the bundle. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
}

const [service = '', folder = ''] = process.argv.slice(2)
const own = join(folder, `${service}-${randomUUID()}`)
const bundle = await rolldown({ input: join(SERVICES, service, 'src/main.ts'), platform: 'node', plugins: [keepUrls] })
await bundle.write({ dir: own, entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs', sourcemap: true })
try {
  renameSync(own, join(folder, service))
} catch (error) {
  // Another process finished the bundle first.
  if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
}
