/** A cluster of three NATS servers with the configuration of the manifests (deploy/nats/cluster.conf). */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNatsServer } from '@svc/local/engines/binaries.ts'
import { natsEnvironment } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import type { NatsLogin } from '@svc/local/topology.ts'
import { type Child, startChild } from '@svc/processes/child.ts'
import { markOf } from '@svc/processes/marks.ts'
import { eventually } from '../../eventually.ts'
import { findTestRun, takePorts } from '../engines.ts'

const CONFIG = fileURLToPath(new URL('../../../../deploy/nats', import.meta.url))
const TLS_CONFIG = fileURLToPath(new URL('../../../../deploy/kubernetes/components/nats-tls', import.meta.url))
const TLS_FILES = ['tls.conf', 'routes-tls.conf'] as const
const SERVERS = 3

/** The keys of the Secret that the servers mount. */
export type ServerCertificate = Readonly<Record<'tls.crt' | 'tls.key' | 'ca.crt', string>>

interface NatsCluster extends AsyncDisposable {
  /** The log lines of all servers. */
  readonly lines: readonly string[]
  /** The URL of one server. @param server its number, from 0. */
  urlFor(user: NatsLogin, server: number): string
  start(server: number): Promise<void>
  signal(server: number, signal: NodeJS.Signals): void
  /** Stops a server. Its store keeps everything that it acknowledged. */
  stop(server: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Copies the store of a stopped server. */
  keepStore(server: number): void
  /** Replaces the store of a stopped server by the copy. */
  bringStoreBack(server: number): void
}

/** @param certificates of each server, for mutual TLS as in components/nats-tls. */
export async function startNatsCluster(certificates?: readonly ServerCertificate[]): Promise<NatsCluster> {
  const { folder, mark } = await findTestRun()
  const own = join(folder, `nats-cluster-${randomBytes(6).toString('hex')}`)
  const { natsPasswords: passwords } = deriveSecrets(randomBytes(32).toString('hex'))
  const clientPort = await takePorts(SERVERS)
  const routePort = await takePorts(SERVERS)
  const monitorPort = await takePorts(SERVERS)
  const command = await findNatsServer()
  const running = new Map<number, Child>()
  const folderOf = (server: number): string => join(own, `nats-${server}`)
  const storeOf = (server: number): string => join(folderOf(server), 'data')

  for (let server = 0; server < SERVERS; server += 1) {
    cpSync(CONFIG, folderOf(server), { recursive: true })
    mkdirSync(storeOf(server))
    const file = join(folderOf(server), 'cluster.conf')
    const text = readFileSync(file, 'utf8')
      .replace('"0.0.0.0:4222"', `"127.0.0.1:${clientPort + server}"`)
      .replace('"0.0.0.0:8222"', `"127.0.0.1:${monitorPort + server}"`)
      .replace('"0.0.0.0:6222"', `"127.0.0.1:${routePort + server}"`)
      .replace('"/data"', `"${storeOf(server)}"`)
    writeFileSync(file, text)
    const certificate = certificates?.[server]
    if (certificate !== undefined) turnTlsOn(folderOf(server), certificate)
  }
  const allLines: string[] = []
  const scheme = certificates === undefined ? 'nats' : 'tls'
  const routes = Array.from({ length: SERVERS }, (_, at) => `"nats://route:route@127.0.0.1:${routePort + at}"`)

  const cluster: NatsCluster = {
    lines: allLines,
    urlFor: (user, server) => `${scheme}://${user}:${passwords[user]}@127.0.0.1:${clientPort + server}`,
    async start(server) {
      const name = `nats-${server}`
      const lines: string[] = []
      const child = startChild({
        name,
        command,
        // the file name marks the process as part of this run
        args: [
          ...['--config', join(folderOf(server), 'cluster.conf')],
          ...['--pid', join(own, `${markOf(mark, `nats-cluster-${server}`)}.pid`)],
        ],
        env: {
          ...natsEnvironment(passwords),
          SVC_NATS_SERVER_NAME: name,
          SVC_NATS_ROUTE_PASSWORD: 'route',
          SVC_NATS_ROUTES: `[${routes.join(', ')}]`,
        },
        onLine: (line) => {
          lines.push(line)
          allLines.push(`${name} ${line}`)
        },
      })
      running.set(server, child)
      await eventually(() => lines.some((line) => line.includes('Listening for client connections')))
    },
    signal: (server, signal) => running.get(server)?.kill(signal),
    async stop(server, signal) {
      running.get(server)?.kill(signal)
      await running.get(server)?.ended
      running.delete(server)
    },
    keepStore(server) {
      cpSync(storeOf(server), `${storeOf(server)}-kept`, { recursive: true })
    },
    bringStoreBack(server) {
      rmSync(storeOf(server), { recursive: true })
      cpSync(`${storeOf(server)}-kept`, storeOf(server), { recursive: true })
    },
    async [Symbol.asyncDispose]() {
      for (const [server, child] of running) {
        child.kill('SIGCONT')
        await cluster.stop(server, 'SIGKILL')
      }
      rmSync(own, { recursive: true, force: true })
    },
  }
  for (let server = 0; server < SERVERS; server += 1) await cluster.start(server)
  return cluster
}

/** Configured like a server of the component: two files replace the empty ones, and the Secret is a folder. */
function turnTlsOn(folder: string, certificate: ServerCertificate): void {
  for (const [name, text] of Object.entries(certificate)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  for (const name of TLS_FILES) {
    const text = readFileSync(join(TLS_CONFIG, name), 'utf8').replaceAll('/etc/nats-tls', folder)
    writeFileSync(join(folder, name), text)
  }
}
