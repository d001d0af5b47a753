import { type AddCommand, runSvc } from './program.ts'

/** Runs the command line of this process. @param more see `runSvc`. */
export async function runProcess(more: readonly AddCommand[] = []): Promise<void> {
  const interrupted = new AbortController()
  // The first signal aborts the command. The second signal ends this process and the commands that it has started.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(130)
      interrupted.abort()
    })
  }
  // The reader of stdout may close it early, as in `svc inbox | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 70))

  const { env, stdin, stdout, stderr } = process
  process.exitCode = await runSvc(
    process.argv.slice(2),
    { env, stdin, stdout, stderr, signal: interrupted.signal },
    more,
  )
}
