import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type EdgeProxy, startEdge } from '../support/engines/edge-proxy.ts'
import type { RunningPod } from './cluster.ts'

/** HAProxy as deploy/edge ships it, on this machine. It learns about replaced gateways as an ingress controller does. */
export class PodEdge implements AsyncDisposable {
  readonly #proxy: EdgeProxy
  readonly #control: string
  /** The name in HAProxy of each gateway. */
  readonly #servers: Map<string, string>

  private constructor(proxy: EdgeProxy, control: string, servers: Map<string, string>) {
    this.#proxy = proxy
    this.#control = control
    this.#servers = servers
  }

  /** @param gateways two. */
  static async start(folder: string, [first, second]: readonly RunningPod[]): Promise<PodEdge> {
    if (first === undefined || second === undefined) throw new Error('the edge has two gateways')
    const control = join(folder, 'edge.sock')
    const proxy = await startEdge(
      'deploy/edge/haproxy.cfg',
      [`${first.address}:8080`, `${second.address}:8080`],
      [['log stdout format raw local0', `log stdout format raw local0\n  stats socket ${control} level admin`]],
    )
    const servers = new Map([
      [first.name, 'gateway-1'],
      [second.name, 'gateway-2'],
    ])
    return new PodEdge(proxy, control, servers)
  }

  get url(): string {
    return this.#proxy.url
  }

  /** New requests go to the new pod. Those that are under way end at the old one. */
  async replace(old: RunningPod, next: RunningPod): Promise<void> {
    const server = this.#servers.get(old.name)
    if (server === undefined) throw new Error(`the edge does not know ${old.name}`)
    this.#servers.set(next.name, server)
    const socket = connect(this.#control)
    await once(socket, 'connect')
    socket.end(`set server gateways/${server} addr ${next.address} port 8080\n`)
    const answer = await text(socket)
    if (!answer.includes('changed')) throw new Error(`HAProxy: ${answer}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]()
  }
}
