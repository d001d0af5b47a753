#!/usr/bin/env node
import { runSvc } from './program.ts'

const interrupted = new AbortController()
// the first one ends what is under way, the second one this process
process.once('SIGINT', () => interrupted.abort())
// who reads this may go away first, as in `svc inbox | head`
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 70))

const { env, stdin, stdout, stderr } = process
process.exitCode = await runSvc(process.argv.slice(2), { env, stdin, stdout, stderr, signal: interrupted.signal })
