import { type AddCommand, runSvc } from './program.ts'

/** Carries out the command line of this process. @param more as of `runSvc`. */
export async function runProcess(more: readonly AddCommand[] = []): Promise<void> {
  const interrupted = new AbortController()
  // The first one ends what is under way, the second one this process, with what it has started.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(130)
      interrupted.abort()
    })
  }
  // who reads this may go away first, as in `svc inbox | head`
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 70))

  const { env, stdin, stdout, stderr } = process
  process.exitCode = await runSvc(
    process.argv.slice(2),
    { env, stdin, stdout, stderr, signal: interrupted.signal },
    more,
  )
}
