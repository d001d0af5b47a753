/** Plays rendered manifests with podman, in place of the controllers of a cluster: pods, jobs, probes and rolling updates. */
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { IContainer, IPodSecurityContext } from 'kubernetes-models/v1'
import { type Manifest, nameOf, type Workload, workloadsOf } from '../deploy/kubernetes/render.ts'
import { eventually } from '../support/eventually.ts'
import { VERSION } from './images.ts'
import { type ContainerNetwork, urlOf } from './network.ts'
import type { Podman } from './podman.ts'
import { podOf } from './pods.ts'

export interface RunningPod {
  readonly name: string
  readonly address: string
  /** The name of its main container in podman. */
  readonly container: string
  readonly workload: Workload
}

type Probe = NonNullable<IContainer['readinessProbe']>

const READY_MS = 400_000

export class Cluster implements AsyncDisposable {
  readonly #podman: Podman
  readonly #network: ContainerNetwork
  readonly #manifests: readonly Manifest[]
  readonly #assigned: IPodSecurityContext
  readonly #folder: string
  readonly #pods = new Map<string, RunningPod>()

  /** @param assigned what the platform adds to pods that name no user. */
  constructor(
    podman: Podman,
    network: ContainerNetwork,
    manifests: readonly Manifest[],
    assigned: IPodSecurityContext = {},
  ) {
    this.#podman = podman
    this.#network = network
    this.#manifests = manifests
    this.#assigned = assigned
    this.#folder = join(podman.folder, network.name)
  }

  /** Makes the secrets, and starts the engines, the jobs and the services, in this order. */
  async start(replicas: number): Promise<void> {
    await this.#makeSecrets()
    const ofKind = (kind: string): Workload[] =>
      workloadsOf(this.#manifests).filter(({ manifest }) => manifest.kind === kind)
    const startAll = (workload: Workload, count: number, first: number): Promise<RunningPod>[] =>
      Array.from({ length: count }, (_, at) => this.startPod(workload, `${nameOf(workload.manifest)}-${first + at}`))
    await Promise.all(
      ofKind('StatefulSet').flatMap((one) => startAll(one, (one.manifest.spec as { replicas: number }).replicas, 0)),
    )
    this.#podman.giveCpu()
    for (const component of ['roles', 'migration']) {
      const jobs = ofKind('Job').filter(
        ({ template }) => template.metadata?.labels?.['app.kubernetes.io/component'] === component,
      )
      await Promise.all(jobs.map((job) => this.runToEnd(job)))
    }
    await Promise.all(ofKind('Deployment').flatMap((one) => startAll(one, replicas, 1)))
  }

  /** The running pods of a workload, the oldest first. */
  podsOf(name: string): RunningPod[] {
    return [...this.#pods.values()].filter(({ workload }) => nameOf(workload.manifest) === name)
  }

  async startPod(workload: Workload, name: string, address = this.#network.takeAddress()): Promise<RunningPod> {
    const pod = await this.#play(workload, name, address)
    this.#pods.set(name, pod)
    await this.untilReady(pod)
    return pod
  }

  /**
   * Replaces the pods of a Deployment one after another. Each new pod is ready before the old one stops.
   * @param onReplaced is called when the new pod is ready, before the old one gets its signal: a Service changes its endpoints then.
   */
  async rollOut(name: string, onReplaced: (old: RunningPod, next: RunningPod) => Promise<void>): Promise<void> {
    for (const old of this.podsOf(name)) {
      await onReplaced(old, await this.startPod(old.workload, `${old.name}-new`))
      await this.stopPod(old)
    }
  }

  /** Runs a job, with at most `backoffLimit` repeats. @returns its log. @throws Error with its log, if it fails. */
  async runToEnd(workload: Workload): Promise<string> {
    const { backoffLimit = 0 } = workload.manifest.spec as { backoffLimit?: number }
    for (let retries = 0; ; retries += 1) {
      const { name, container } = await this.#play(workload, nameOf(workload.manifest), this.#network.takeAddress())
      const code = await this.#podman.run(['wait', container])
      const log = await this.#podman.logOf(container)
      await this.#podman.run(['pod', 'rm', '--force', name])
      if (code === '0') return log
      const failure = `${name} failed with ${code}:\n${log}`
      if (retries >= backoffLimit) throw new Error(failure)
      console.warn(failure)
    }
  }

  /** Waits until startup and readiness probes would pass. Makes their requests itself, because podman has no probes over HTTP. */
  async untilReady({ name, address, container, workload }: RunningPod): Promise<void> {
    const [main] = workload.containers
    const ports = new Map(main?.ports?.map((port) => [port.name, port.containerPort]))
    for (const probe of [main?.startupProbe, main?.readinessProbe]) {
      if (probe === undefined) continue
      try {
        const passes = (): Promise<boolean> => answersTo(probe, address, ports)
        await eventually(passes, { timeoutMs: READY_MS, what: `a probe of ${name}` })
      } catch (error) {
        throw new Error(`${name} is not ready:\n${await this.#podman.logOf(container)}`, { cause: error })
      }
    }
  }

  /** Stops a pod like a kubelet, and removes it. */
  async stopPod({ name, container, workload }: RunningPod): Promise<void> {
    this.#pods.delete(name)
    await sleep((workload.containers[0]?.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1_000)
    const graceSeconds = workload.template.spec?.terminationGracePeriodSeconds ?? 30
    await this.#podman.run(['stop', '--time', String(graceSeconds), container])
    const code = await this.#podman.inspect(container, '.State.ExitCode')
    if (code !== '0') throw new Error(`${name} ended with ${code}:\n${await this.#podman.logOf(container)}`)
    await this.#podman.run(['pod', 'rm', '--force', name])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const names = await this.#podman.run(['pod', 'ps', '--quiet', '--filter', `network=${this.#network.name}`])
    if (names !== '') await this.#podman.run(['pod', 'rm', '--force', '--time', '0', ...names.split('\n')])
    await this.#podman.run(['network', 'rm', '--force', this.#network.name])
  }

  async #makeSecrets(): Promise<void> {
    const folder = join(this.#folder, 'secrets')
    mkdirSync(folder, { recursive: true })
    const options = ['--rm', '--network', 'none', '--user', '0:0', '--volume', `${folder}:/secrets`]
    await this.#podman.run(['run', ...options, `svc:${VERSION}`, 'secrets.js', '/secrets'])
  }

  async #play(workload: Workload, name: string, address: string): Promise<RunningPod> {
    const folder = join(this.#folder, 'pods')
    const secrets = join(this.#folder, 'secrets')
    const pod = podOf(workload, {
      name,
      address,
      manifests: this.#manifests,
      secrets,
      folder,
      assigned: this.#assigned,
    })
    const network = this.#network.optionFor(address, this.#servicesOf(workload, name))
    await this.#podman.run(['kube', 'play', '--network', network, '-'], JSON.stringify(pod))
    const container = `${name}-${workload.template.spec?.containers[0]?.name}`
    for (const { name: setting, value } of workload.template.spec?.securityContext?.sysctls ?? [])
      await this.#podman.setInNetworkOf(container, setting, value)
    return { name, address, container, workload }
  }

  /** The names of the pod in DNS: each Service that selects it, and `<pod>.<service>` in a StatefulSet. */
  #servicesOf({ manifest, template }: Workload, name: string): string[] {
    const labels = template.metadata?.labels ?? {}
    const services = this.#manifests.filter(({ kind, spec }) => {
      const { selector = {} } = (spec ?? {}) as { selector?: Record<string, string> }
      return kind === 'Service' && Object.entries(selector).every(([label, value]) => labels[label] === value)
    })
    const { serviceName } = manifest.spec as { serviceName?: string }
    const names = services.map(({ metadata }) => metadata.name)
    return serviceName === undefined ? names : [...names, `${name}.${serviceName}`]
  }
}

/** If a probe runs a command, only a connection to the first port is checked. */
function answersTo(probe: Probe, address: string, ports: ReadonlyMap<string | undefined, number>): Promise<boolean> {
  const [firstPort = 0] = ports.values()
  if (probe.httpGet === undefined) return accepts(address, firstPort)
  const port = ports.get(String(probe.httpGet.port)) ?? Number(probe.httpGet.port)
  const signal = AbortSignal.timeout((probe.timeoutSeconds ?? 1) * 1_000)
  return fetch(urlOf(address, port) + probe.httpGet.path, { signal }).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false,
  )
}

function accepts(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, address)
    const end = (accepted: boolean): void => {
      socket.destroy()
      resolve(accepted)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
