/**
 * Runs the image and the rendered manifests in containers, with the users, the read-only roots and the limits that they set. Podman
 * stands in for the nodes of a cluster, and `cluster.ts` for its controllers.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SERVICES } from '@svc/local/topology.ts'
import type { IPodSecurityContext } from 'kubernetes-models/v1'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Manifest, workloadsOf } from '../deploy/kubernetes/render.ts'
import { type RollingLoad, startRollingLoad } from '../faults/rolling/load.ts'
import { Agent, type Place } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { eventually } from '../support/eventually.ts'
import { lacks } from '../support/run/lacks.ts'
import { startReceiver, type WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'
import { Cluster } from './cluster.ts'
import { PodEdge } from './edge.ts'
import { startFlood } from './flood.ts'
import { buildImages, VERSION } from './images.ts'
import { heldBy } from './memory.ts'
import { ContainerNetwork, urlOf } from './network.ts'
import { renderOn, renderProduction } from './overlays.ts'
import { Podman } from './podman.ts'
import { whyNoContainers } from './why-not.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const AUTHORITY = 'agents.example.org'
const reason = await whyNoContainers()

/** Runs the exchange of README.md with the example program of the SDK. @returns its output. */
async function exchange(url: string): Promise<string> {
  const options = { cwd: REPOSITORY, env: { ...process.env, SVC_URL: url } }
  return (await promisify(execFile)(process.execPath, ['clients/sdk/examples/two-agents.ts'], options)).stdout
}
/** The largest body, 16 KB: its JSON may have 4,000 characters, and two of them are quotes. */
const LARGEST_BODY = '\u{1F4E8}'.repeat(3_998)
/** A gateway keeps 64 MiB of unsent answers, so the connections with the largest pages are at most 128. */
const FILLED = 100
/** What components/socket-buffers lets 250 connections hold in the kernel. */
const MAX_BUFFERED_BYTES = 80 * 1024 * 1024
const EXCHANGED = 'hello\nprocessed 1\n'

function register(place: Place, count: number): Promise<Agent[]> {
  return Promise.all(Array.from({ length: count }, () => new Agent(place).register()))
}

/** Messages, posts, streams and a webhook. All agents share one address, so the load stays below the rate of an address. */
function startLoad(place: Place, receiver: WebhookReceiver): Promise<RollingLoad> {
  const agents = (count: number): Promise<Agent[]> => register(place, count)
  return startRollingLoad({ system: { urls: [place.url] }, agents }, { receiver, pauseMs: 400, behindProxy: true })
}

async function expectNoLoss(load: RollingLoad): Promise<void> {
  expect(await load.finish()).toEqual([])
  expect(load.streams).toBeGreaterThan(0)
  expect(load.deliveries).toBeGreaterThan(0)
}

describe.skipIf(lacks(reason))('in containers', () => {
  let podman: Podman
  beforeAll(async () => {
    podman = new Podman()
    await buildImages(podman)
  }, 900_000)
  afterAll(() => podman?.[Symbol.asyncDispose](), 300_000)

  /** OpenShift takes a user from the range of the namespace, in group 0. */
  const assigned: IPodSecurityContext = { runAsUser: 1000650000, runAsGroup: 0, fsGroup: 1000650000 }
  test.each<[string, 4 | 6, string[], IPodSecurityContext?]>([
    ['as it is, on a network with IPv6 only', 6, []],
    ['with components/openshift, as a user that the platform chooses', 4, ['openshift'], assigned],
  ])('overlays/trial runs %s', { timeout: 900_000 }, async (_, family, components, user) => {
    const network = await ContainerNetwork.create(podman, family)
    await using receiver = await startReceiver({ trusted: false, address: network.host, folder: podman.folder })
    await using cluster = new Cluster(podman, network, renderOn('trial', components, { receiver }), user)
    await cluster.start(1)
    // Connects to the gateway's pod directly, as `kubectl port-forward` does.
    const [gateway] = cluster.podsOf('gateway')
    const url = urlOf(gateway?.address ?? '', 8080)
    expect(await exchange(url)).toBe(EXCHANGED)
    await using load = await startLoad({ url, authority: '127.0.0.1:8080' }, receiver)
    await load.more(20)
    await expectNoLoss(load)
  })

  describe('overlays/production', () => {
    const stack = new AsyncDisposableStack()
    let cluster: Cluster
    let manifests: Manifest[]
    let edge: PodEdge
    let receiver: WebhookReceiver
    beforeAll(async () => {
      const network = await ContainerNetwork.create(podman, 4)
      receiver = stack.use(await startReceiver({ trusted: false, address: network.host, folder: podman.folder }))
      const digests = { svc: await podman.digestOf('svc', VERSION), nats: await podman.digestOf('nats', '2.14') }
      manifests = renderProduction({ digests, trustedProxies: network.host, receiver })
      cluster = stack.use(new Cluster(podman, network, manifests))
      await cluster.start(2)
      edge = stack.use(await PodEdge.start(podman.folder, cluster.podsOf('gateway')))
      await untilHealth(200)
    }, 900_000)
    afterAll(() => stack.disposeAsync(), 300_000)

    const place = (): Place => ({ url: edge.url, authority: AUTHORITY })

    async function untilHealth(status: number): Promise<void> {
      const isThere = async (): Promise<boolean> => (await fetch(`${edge.url}/v2/health`)).status === status
      await eventually(isThere, { timeoutMs: 400_000, what: `/v2/health being ${status}` })
    }

    test('two agents exchange a message', async () => {
      expect(await exchange(edge.url)).toBe(EXCHANGED)
    })

    test('all pods are replaced under load: no request fails, and no event or webhook is lost', {
      timeout: 900_000,
    }, async () => {
      await using load = await startLoad(place(), receiver)
      await load.more(50)
      await Promise.all(
        SERVICES.map((service) =>
          cluster.rollOut(service, async (old, next) => {
            if (service === 'gateway') await edge.replace(old, next)
          }),
        ),
      )
      await load.more(50)
      await expectNoLoss(load)
    })

    test('a gateway stays within its memory under a flood, and serves others', { timeout: 900_000 }, async () => {
      const [gateway] = cluster.podsOf('gateway')
      if (gateway === undefined) throw new Error('there is a gateway')
      const pid = await podman.inspect(gateway.container, '.State.Pid')
      const [neighbour, ...readers] = await register(place(), 6)
      if (neighbour === undefined) throw new Error('there is a neighbour')
      for (const reader of readers) {
        await got(reader.patch('/v2/me', { inbox_policy: 'open' }))
        for (let sent = 0; sent < 35; sent += 1) await got(neighbour.send(reader, LARGEST_BODY))
      }
      const limit = Number(await podman.inspect(gateway.container, '.HostConfig.Memory'))
      {
        using _ = await startFlood(gateway.address, readers)
        const isServed = async (): Promise<boolean> =>
          (await neighbour.get('/v2/me', { url: urlOf(gateway.address, 8080) })).status === 200
        // The gateway closes connections that are not read for 20 s.
        const areFilled = async (): Promise<boolean> => (await heldBy(pid)).filled >= FILLED
        await eventually(areFilled, { what: `${FILLED} connections with filled buffers` })
        for (let answered = 0; answered < 5; answered += 1) {
          await eventually(isServed, { what: 'an answer in the flood' })
          const { memoryBytes, writtenBytes } = await heldBy(pid)
          expect(writtenBytes).toBeLessThan(MAX_BUFFERED_BYTES)
          expect(memoryBytes + writtenBytes).toBeLessThan(limit)
        }
      }
      expect(await podman.inspect(gateway.container, '.State.OOMKilled')).toBe('false')
      expect(await podman.inspect(gateway.container, '.State.Pid')).toBe(pid)
    })

    test('a killed process of each service is started again', { timeout: 900_000 }, async () => {
      for (const service of SERVICES) {
        const [pod] = cluster.podsOf(service)
        if (pod === undefined) throw new Error(`there is a pod of ${service}`)
        const pid = await podman.inspect(pod.container, '.State.Pid')
        process.kill(Number(pid), 'SIGKILL')
        const isNew = async (): Promise<boolean> =>
          ![pid, '0'].includes(await podman.inspect(pod.container, '.State.Pid'))
        await eventually(isNew, { what: `a new process of ${service}` })
        await cluster.untilReady(pod)
      }
      await untilHealth(200)
      expect(await exchange(edge.url)).toBe(EXCHANGED)
    })

    test.each([
      ['nats', 'stopped', ['stop', '--time', '60']],
      ['nats', 'killed', ['kill']],
      ['postgres', 'stopped', ['stop', '--time', '60']],
      ['postgres', 'killed', ['kill']],
    ])('the service is back after %s was %s', { timeout: 900_000 }, async (engine, _, command) => {
      const pods = cluster.podsOf(engine)
      const names = pods.map(({ name }) => name)
      await podman.run(['pod', ...command, ...names])
      await untilHealth(503)
      await podman.run(['pod', 'start', ...names])
      await Promise.all(pods.map((pod) => cluster.untilReady(pod)))
      await untilHealth(200)
      expect(await exchange(edge.url)).toBe(EXCHANGED)
    })

    test('svc admin verify finds no difference in the books', { timeout: 900_000 }, async () => {
      const job = workloadsOf(manifests).find(({ manifest }) => manifest.kind === 'CronJob')
      if (job === undefined) throw new Error('the overlay has a job that verifies the books')
      await cluster.runToEnd(job)
    })
  })
})
