import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ACCEPTED_STREAM } from '@svc/contracts/accepted.ts'
import { findNatsServer } from '@svc/local/engines/binaries.ts'
import { startChild } from '@svc/processes/child.ts'
import { markOf } from '@svc/processes/marks.ts'
import { connect, type NatsConnection } from 'nats'
import { findTestRun, type TestNats, takePorts } from '../engines/engines.ts'
import { eventually } from '../eventually.ts'

export interface AcceptedMessage {
  subject: string
  payload: string
}

let copies = 0

/**
 * Reads the messages of the stream `ACCEPTED` in order. No NATS user of the system may read this stream, so a second server
 * without users reads a copy of the files. The running server is not disturbed. The newest messages may be missing.
 */
export async function readAccepted({ folder }: Pick<TestNats, 'folder'>): Promise<AcceptedMessage[]> {
  const run = await findTestRun()
  copies += 1
  const name = `nats-copy-${process.pid}-${copies}`
  const copy = join(run.folder, name)
  // the copy fails if a file disappears during it
  await eventually(() => {
    rmSync(copy, { recursive: true, force: true })
    cpSync(folder, copy, { recursive: true })
  })
  // a server without accounts keeps its streams under the account $G, while deploy/nats/users.conf defines its own account
  renameSync(join(copy, 'jetstream', 'SVC'), join(copy, 'jetstream', '$G'))
  const port = await takePorts()
  const args = ['-n', markOf(run.mark, name), '-a', '127.0.0.1', '-p', String(port), '-js', '-sd', copy]
  const server = startChild({ name, command: await findNatsServer(), args, env: {}, onLine: () => {} })
  try {
    const connection = await connect({
      servers: `127.0.0.1:${port}`,
      waitOnFirstConnect: true,
      maxReconnectAttempts: 6_000,
      reconnectTimeWait: 10,
      reconnectJitter: 0,
    })
    try {
      return await readStream(connection)
    } finally {
      await connection.close()
    }
  } finally {
    server.kill('SIGKILL')
    await server.ended
    rmSync(copy, { recursive: true, force: true })
  }
}

async function readStream(connection: NatsConnection): Promise<AcceptedMessage[]> {
  const manager = await connection.jetstreamManager()
  const { state } = await manager.streams.info(ACCEPTED_STREAM)
  const sequences = Array.from({ length: state.messages }, (_, at) => state.first_seq + at)
  return Promise.all(
    sequences.map(async (seq) => {
      const message = await manager.streams.getMessage(ACCEPTED_STREAM, { seq })
      return {
        subject: message.subject,
        payload: new TextDecoder().decode(message.data),
      }
    }),
  )
}
