import type { Readable, Writable } from 'node:stream'
import type { Audience } from './channel/channel.ts'
import { StartError } from './errors.ts'
import { createLog } from './log.ts'
import type { Mailbox } from './mailbox.ts'
import { openMailbox, type StartOptions } from './startup/start.ts'
import { readOrMakeToken } from './store/http-token.ts'
import { serveOverHttp } from './transports/http.ts'
import { serveOverStdio } from './transports/stdio.ts'

interface ServeOptions extends StartOptions {
  /** Port on the loopback address. Undefined means stdio. */
  readonly httpPort?: number | undefined
  /** Default: `<keyPath>.token`. */
  readonly tokenPath?: string | undefined
  /** Whose messages are told to a session of Claude Code. Needs stdio. */
  readonly channel?: Audience | undefined
}

interface ServeIo {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly signal: AbortSignal
}

/**
 * Runs the server of `svc mcp` until its client closes stdin, or the signal is aborted.
 * @throws StartError if the configuration is wrong, ApiError if the service refuses the registration.
 */
export async function serve(options: ServeOptions, io: ServeIo): Promise<void> {
  if (options.channel !== undefined && options.httpPort !== undefined) {
    throw new StartError('--channel needs stdio: leave --http out, or leave --channel out and use MCP Events')
  }
  const log = createLog(io.stderr)
  const mailbox = await openMailbox(options, log)
  try {
    if (options.httpPort === undefined) await serveOverStdio(mailbox, io, options.channel)
    else await serveUntilAborted(mailbox, options, options.httpPort, io.signal)
  } finally {
    await mailbox[Symbol.asyncDispose]()
  }
}

async function serveUntilAborted(
  mailbox: Mailbox,
  { tokenPath, keyPath }: ServeOptions,
  port: number,
  signal: AbortSignal,
): Promise<void> {
  const tokenFile = tokenPath ?? `${keyPath}.token`
  const face = await serveOverHttp(mailbox, { port, token: readOrMakeToken(tokenFile) })
  mailbox.log('http.ready', { url: face.url, tokenFile })
  try {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
  } finally {
    await face[Symbol.asyncDispose]()
  }
}
