import { randomBytes, randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Podman } from './podman.ts'

/** A network of containers that has addresses of one family only, and no way out. */
export class ContainerNetwork {
  readonly name: string
  readonly family: 4 | 6
  /** This machine's address in it. */
  readonly host: string
  readonly #prefix: string
  #taken = 9

  private constructor(name: string, family: 4 | 6, prefix: string) {
    this.name = name
    this.family = family
    this.host = `${prefix}1`
    this.#prefix = prefix
  }

  static async create(podman: Podman, family: 4 | 6): Promise<ContainerNetwork> {
    const name = `svc${randomBytes(4).toString('hex')}`
    const groups = randomBytes(6).toString('hex').match(/.{4}/g) ?? []
    const prefix = family === 6 ? `fd00:${groups.join(':')}::` : `10.${randomInt(100, 250)}.${randomInt(250)}.`
    const subnet = family === 6 ? `${prefix}/64` : `${prefix}0/24`
    const options = ['--internal', '--subnet', subnet, '--gateway', `${prefix}1`, ...(family === 6 ? ['--ipv6'] : [])]
    await podman.run(['network', 'create', ...options, name])
    // Podman 4.3 chooses the name of the interface without a look at the networks of other runs, and has no option for it.
    const file = join(podman.folder, 'networks', `${name}.json`)
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), network_interface: name }))
    return new ContainerNetwork(name, family, prefix)
  }

  /** An address that no pod has yet. */
  takeAddress(): string {
    this.#taken += 1
    return `${this.#prefix}${this.#taken}`
  }

  /** The option of podman that puts a pod into the network, with names that the others can look up. */
  optionFor(address: string, names: readonly string[]): string {
    const ip = this.family === 6 ? 'ip6' : 'ip'
    return [`${this.name}:${ip}=${address}`, ...names.map((name) => `alias=${name}`)].join(',')
  }
}

export function urlOf(address: string, port: number): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
