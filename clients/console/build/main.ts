/** `node clients/console/build/main.ts [<folder>]`: builds the console, for an image into `clients/console/built`. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole } from './build.ts'
import { FOLDER } from './files.ts'

const folder = process.argv[2] ?? join(FOLDER, 'built')
rmSync(folder, { recursive: true, force: true })
await buildConsole(folder)
