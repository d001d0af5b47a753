import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ContainerNetwork } from './network.ts'
import { Podman } from './podman.ts'

/** Debian's packages, and a file of each. */
const PACKAGES = {
  podman: '/usr/bin/podman',
  runc: '/usr/sbin/runc',
  catatonit: '/usr/bin/catatonit',
  netavark: '/usr/lib/podman/netavark',
  'aardvark-dns': '/usr/lib/podman/aardvark-dns',
  iptables: '/usr/sbin/iptables',
  iproute2: '/usr/bin/ss',
  haproxy: '/usr/sbin/haproxy',
  nginx: '/usr/sbin/nginx',
} as const

/** The reason why containers cannot run here; undefined if they can. */
export async function whyNoContainers(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root'
  const missing = Object.entries(PACKAGES).filter(([, file]) => !existsSync(file))
  if (missing.length > 0)
    return `it needs Debian's packages: apt-get install ${missing.map(([name]) => name).join(' ')}`
  await using podman = new Podman()
  try {
    for (const family of [4, 6] as const) await runIn(podman, await ContainerNetwork.create(podman, family))
    return undefined
  } catch (error) {
    return `podman cannot run a container here: ${(error as { stderr?: string }).stderr ?? error}`
  }
}

/** Runs a container with a limit and an address, because a machine may lack the rights to set them. Its program needs no libraries. */
async function runIn(podman: Podman, network: ContainerNetwork): Promise<void> {
  const root = join(podman.folder, network.name)
  mkdirSync(root)
  copyFileSync(PACKAGES.catatonit, join(root, 'catatonit'))
  const options = ['--rm', '--memory', '64m', '--network', network.optionFor(network.takeAddress(), [])]
  await podman.run(['run', ...options, '--rootfs', root, '/catatonit', '--version'])
}
