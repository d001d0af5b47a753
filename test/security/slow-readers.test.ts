/** Clients that ask for much and read nothing, against a gateway with default limits and the memory that its manifest gives it. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { admitRequest, findAgent } from '@svc/contracts/identity.ts'
import { listInbox } from '@svc/contracts/messaging.ts'
import { handle, handleText } from '@svc/nats/serve.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { signRequest } from '@svc/svc1/sign.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { canMeasureCpu, residentBytes } from '../bench/process-cpu.ts'
import { findTestRun, startTestNats, takePorts } from '../support/engines.ts'
import { startPeer } from '../support/peer.ts'
import { startTestProcess, type TestProcess } from '../support/processes.ts'

const MANIFEST = fileURLToPath(new URL('../../deploy/kubernetes/base/gateway/deployment.yaml', import.meta.url))
const AUTHORITY = 'agents.test'
const ADDRESSES = 26
/** Pipelined by each address, within its burst. */
const PAGES = 60
/** All of them together take more memory than the manifest gives. */
const PAGE = JSON.stringify({ messages: ['x'.repeat(500 * 1024)], next_cursor: '' })
const LARGEST_DOCUMENT = '/docs/swagger-ui-bundle.js'

const key = createKeyPair()
const agent = {
  agent_id: key.agentId,
  name: 'anna',
  pubkey: formatPublicKey(key.publicKey),
  created_at: 1767268800,
  revoked: false,
}

let port: number
let gateway: TestProcess
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  const nats = stack.use(await startTestNats())
  stack.use(
    await startPeer(nats.urlFor('identity'), 'identity', [
      handle(findAgent, async () => ({ agent })),
      handle(admitRequest, async () => ({ replayed: false, revoked: false })),
    ]),
  )
  stack.use(
    await startPeer(nats.urlFor('messaging'), 'messaging', [
      handleText(listInbox, async () => ({ meta: {}, text: PAGE })),
    ]),
  )
  port = await takePorts()
  const { mark } = await findTestRun()
  const env = {
    PATH: process.env.PATH,
    SVC_NATS_URL: nats.urlFor('gateway'),
    SVC_AUTHORITY: AUTHORITY,
    SVC_HTTP_PORT: String(port),
  }
  gateway = stack.adopt(startTestProcess({ service: 'gateway', mark, env }), async (child) => void (await child.stop()))
  await gateway.untilReady()
})
afterAll(() => stack.disposeAsync())

function memoryLimit(): number {
  const { spec } = parse(readFileSync(MANIFEST, 'utf8')) as {
    spec: { template: { spec: { containers: { resources: { limits: { memory: string } } }[] } } }
  }
  const [, mebibytes] = /^(\d+)Mi$/.exec(spec.template.spec.containers[0]?.resources.limits.memory ?? '') ?? []
  return Number(mebibytes) * 1024 * 1024
}

function pageRequest(): string {
  const headers = signRequest(key, { authority: AUTHORITY, method: 'GET', target: '/v2/inbox' })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET /v2/inbox HTTP/1.1\r\nHost: ${AUTHORITY}\r\n${lines.join('')}\r\n`
}

/** Asks for pages on one connection, and never reads. */
function ask(address: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: address }).pause()
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject).on('error', () => {}) // the gateway resets it
      socket.write(Array.from({ length: PAGES }, pageRequest).join(''), () => resolve(socket))
    })
  })
}

async function getDocument(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${LARGEST_DOCUMENT}`)
  return answer.ok ? 'whole' : `${answer.status} ${await answer.text()}`
}

test.runIf(canMeasureCpu)(
  '1,560 pages that nobody reads do not fit into memory; it has a bound, and others are answered',
  async () => {
    const limit = memoryLimit()
    const sockets: Socket[] = []
    let most = 0
    try {
      for (let address = 1; address <= ADDRESSES; address += 1) {
        sockets.push(await ask(`127.0.1.${address}`))
        expect(await getDocument()).toBe('whole')
        most = Math.max(most, residentBytes(gateway.pid ?? 0))
      }
      expect(most).toBeGreaterThan(0)
      expect(most).toBeLessThan(limit)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  },
)
