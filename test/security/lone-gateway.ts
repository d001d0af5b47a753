/** A gateway process with default limits, and stand-ins for its services. For attacks that never get past the gateway. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { admitRequest, findAgent } from '@svc/contracts/identity.ts'
import { listInbox } from '@svc/contracts/messaging.ts'
import { handle, handleText } from '@svc/nats/serve.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { parse } from 'yaml'
import { findTestRun, startTestNats, takePorts } from '../support/engines/engines.ts'
import { startPeer } from '../support/stand-ins/peer.ts'
import { startTestProcess } from '../support/system/processes.ts'
import { residentBytes } from '../tools/bench/process-cpu.ts'

const MANIFEST = fileURLToPath(new URL('../../deploy/kubernetes/base/gateway/deployment.yaml', import.meta.url))

export const AUTHORITY = 'agents.test'

export interface LoneGateway extends AsyncDisposable {
  readonly port: number
  /** The key of the only agent. */
  readonly key: KeyPair
  /** The resident memory of the process. */
  residentBytes(): number
  /** The value of one series of its metrics; 0 if it is absent. */
  measure(series: RegExp): Promise<number>
}

/**
 * @param inbox the JSON answer to every read of an inbox.
 * @param changes of its environment.
 */
export async function startLoneGateway(inbox: string, changes: NodeJS.ProcessEnv = {}): Promise<LoneGateway> {
  await using stack = new AsyncDisposableStack()
  const key = createKeyPair()
  const agent = {
    agent_id: key.agentId,
    name: 'anna',
    pubkey: formatPublicKey(key.publicKey),
    created_at: 1767268800,
    revoked: false,
  }
  const nats = stack.use(await startTestNats())
  stack.use(
    await startPeer(nats.urlFor('identity'), 'identity', [
      handle(findAgent, async () => ({ agent })),
      handle(admitRequest, async () => ({ replayed: false, revoked: false })),
    ]),
  )
  stack.use(
    await startPeer(nats.urlFor('messaging'), 'messaging', [
      handleText(listInbox, async () => ({ meta: {}, text: inbox })),
    ]),
  )
  const port = await takePorts()
  const metricsPort = await takePorts()
  const run = await findTestRun()
  const env = {
    PATH: process.env.PATH,
    SVC_NATS_URL: nats.urlFor('gateway'),
    SVC_AUTHORITY: AUTHORITY,
    SVC_HTTP_PORT: String(port),
    SVC_METRICS_PORT: String(metricsPort),
    ...changes,
  }
  const gateway = stack.adopt(
    startTestProcess({ service: 'gateway', run, env }),
    async (child) => void (await child.stop()),
  )
  await gateway.untilReady()
  const owned = stack.move()
  return {
    port,
    key,
    residentBytes: () => residentBytes(gateway.pid ?? 0),
    async measure(series) {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
      return Number(new RegExp(`^${series.source} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The gateway's memory limit in the manifest, in bytes. */
export function memoryLimit(): number {
  const { spec } = parse(readFileSync(MANIFEST, 'utf8')) as {
    spec: { template: { spec: { containers: { resources: { limits: { memory: string } } }[] } } }
  }
  const [, mebibytes] = /^(\d+)Mi$/.exec(spec.template.spec.containers[0]?.resources.limits.memory ?? '') ?? []
  return Number(mebibytes) * 1024 * 1024
}
