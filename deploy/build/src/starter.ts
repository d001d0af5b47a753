/** Runs first in every program, so that the cache of compiled code does not depend on who starts the program. */
import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'

/** After the start. Node writes the cache when a process exits, which a killed one does not. */
const FLUSH_MS = 10_000

// If the folder cannot be written, nothing is cached. NODE_COMPILE_CACHE names another one.
enableCompileCache(join(import.meta.dirname, '../compiled'))
setTimeout(flushCompileCache, FLUSH_MS).unref()
