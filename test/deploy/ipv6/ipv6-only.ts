/** Runs in a network without IPv4 (ipv6-only.test.ts). Prints what works. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNatsServer } from '@svc/local/engines/binaries.ts'
import { natsEnvironment } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import { AgentClient, generateKey } from '@svc/sdk'
import { eventually } from '../../support/eventually.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PORT = 8080
/** The first start of a clone builds. */
const START_LIMIT_MS = 120_000
const URL_OF_GATEWAY = `http://[::1]:${PORT}`
const folder = mkdtempSync(join(tmpdir(), 'svc-ipv6-'))

try {
  const refused = createServer().listen(0, '127.0.0.1')
  console.log(
    await once(refused, 'listening').then(
      () => 'has 127.0.0.1',
      () => 'no 127.0.0.1',
    ),
  )
  await runStack()
  await runNats()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function runStack(): Promise<void> {
  const { SVC_DATABASE_URL: _database, SVC_NATS_URL: _nats, ...inherited } = process.env
  const settings = {
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_HTTP_HOST: '::',
    SVC_METRICS_PORT: '9100',
    SVC_POW_DIFFICULTY: '4',
  }
  const stack = spawn(process.execPath, ['deploy/local/src/main.ts'], {
    cwd: ROOT,
    env: { ...inherited, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(stack, 'exit')
  try {
    let output = ''
    stack.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    await eventually(() => output.includes('The system is up') || stack.exitCode !== null, {
      timeoutMs: START_LIMIT_MS,
    })
    if (stack.exitCode !== null) throw new Error(output)
    await exchange()
  } finally {
    stack.kill('SIGTERM')
    await ended
  }
}

async function exchange(): Promise<void> {
  const [alice, bob] = [generateKey(), generateKey()].map((key) => new AgentClient({ url: URL_OF_GATEWAY, key }))
  if (alice === undefined || bob === undefined) return
  await alice.register('alice')
  await bob.register('bob')
  const events = bob.stream()
  const first = events.next()
  await alice.send({ to: 'bob', body: 'hello' })
  const { value } = await first
  console.log('stream:', JSON.stringify(value).includes('hello') ? 'hello' : JSON.stringify(value))
  await events.return(undefined as never)
  for await (const { envelope } of bob.inbox({ lane: 'requests' }))
    console.log('inbox:', 'body' in envelope ? envelope.body : envelope)
  const targets = JSON.parse(readFileSync(join(folder, 'data/metrics-targets.json'), 'utf8')) as { targets: string[] }[]
  const answers = await Promise.all(targets.map(({ targets: [target] }) => fetch(`http://${target}/ready`)))
  console.log(`metrics of ${answers.filter(({ status }) => status === 200).length} processes`)
  const health = await fetch(`${URL_OF_GATEWAY}/v2/health`)
  console.log('client', health.headers.get('x-svc-client-address'))
}

/**
 * deploy/nats listens on `0.0.0.0`. Go listens on every address of both families for it, if the machine has 127.0.0.1. A pod without IPv4
 * has 127.0.0.1 too.
 */
async function runNats(): Promise<void> {
  execFileSync('ip', ['address', 'add', '127.0.0.1/8', 'dev', 'lo'])
  cpSync(join(ROOT, 'deploy/nats'), folder, { recursive: true })
  const config = join(folder, 'single.conf')
  writeFileSync(config, readFileSync(config, 'utf8').replace('"/data"', JSON.stringify(join(folder, 'nats'))))
  const server = spawn(await findNatsServer(), ['-c', config], {
    env: { PATH: process.env.PATH, ...natsEnvironment(deriveSecrets('test').natsPasswords) },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const ended = once(server, 'exit')
  try {
    await eventually(() => greetsAt(4222))
    await eventually(() => fetch('http://[::1]:8222/healthz').then(({ ok }) => ok))
    console.log('NATS of a deployment answers at ::1')
  } finally {
    server.kill('SIGTERM')
    await ended
  }
}

async function greetsAt(port: number): Promise<boolean> {
  const socket = connect({ port, host: '::1' })
  try {
    return String(await once(socket, 'data')).startsWith('INFO ')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
