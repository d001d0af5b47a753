/** The proxies of deploy/edge and deploy/compose as they are shipped, except for their addresses, folders and certificates. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { urlHost } from '@svc/config/host.ts'
import { startChild } from '@svc/processes/child.ts'
import { eventually } from '../eventually.ts'
import { createAuthority } from './certificates.ts'
import { takePorts } from './engines.ts'

export interface EdgeProxy extends AsyncDisposable {
  /** Its address without TLS. */
  readonly url: string
  /** Its address with TLS. Undefined if the configuration has no TLS. */
  readonly tlsUrl: string | undefined
  /** The authority of its certificate. */
  readonly ca: string
}

/** Texts of a configuration, and what replaces them. */
type Changes = readonly (readonly [from: string | RegExp, to: string])[]

interface Place {
  readonly folder: string
  readonly port: number
  readonly tlsPort: number
  /** Addresses of two gateways. */
  readonly gateways: readonly [string, string]
  readonly changes: Changes
}

interface Edge {
  readonly program: string
  readonly hasTls: boolean
  /** Writes the configuration. @returns the arguments of the program. */
  readonly prepare: (place: Place) => string[]
}

/** The host at which proxies of deploy/edge listen for IPv6. A machine without IPv6 has another address in its place. */
export const IPV6_HOST = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
  ? '::1'
  : '127.0.0.2'

const DEPLOY = fileURLToPath(new URL('../../../deploy', import.meta.url))

export const EDGES = {
  'deploy/edge/nginx.conf': {
    program: '/usr/sbin/nginx',
    hasTls: true,
    prepare: (place) => nginx(place, 'edge/nginx.conf'),
  },
  'deploy/edge/haproxy.cfg': { program: '/usr/sbin/haproxy', hasTls: true, prepare: haproxy },
  'deploy/edge/Caddyfile': { program: '/usr/bin/caddy', hasTls: true, prepare: caddy },
  'deploy/compose/proxy/nginx.conf': {
    program: '/usr/sbin/nginx',
    hasTls: false,
    prepare: (place) => nginx(place, 'compose/proxy/nginx.conf'),
  },
  'deploy/compose/proxy/tls.conf': {
    program: '/usr/sbin/nginx',
    hasTls: true,
    prepare: (place) => nginx(place, 'compose/proxy/tls.conf'),
  },
} as const satisfies Record<string, Edge>
export type EdgeName = keyof typeof EDGES

/** The reason why a proxy cannot run; undefined if it can. */
export function whyNot(name: EdgeName): string | undefined {
  const { program } = EDGES[name]
  return existsSync(program) ? undefined : `${program} is not installed (apt-get install ${program.split('/').at(-1)})`
}

/** A port on 127.0.0.1, or an address with its port. */
type GatewayAddress = number | string

/**
 * @param gateways one gateway or two.
 * @param changes lower limits, for example, so that a test reaches them.
 */
export async function startEdge(
  name: EdgeName,
  [first, second = first]: readonly [GatewayAddress, GatewayAddress?],
  changes: Changes = [],
): Promise<EdgeProxy> {
  const { program, hasTls, prepare } = EDGES[name]
  const folder = mkdtempSync(join(tmpdir(), 'svc-edge-'))
  const port = await takePorts(2)
  const authority = await createAuthority()
  const { key, cert } = await authority.issue()
  writeFileSync(join(folder, 'fullchain.pem'), cert)
  writeFileSync(join(folder, 'privkey.pem'), key)
  writeFileSync(join(folder, 'both.pem'), `${cert}\n${key}`)
  const output: string[] = []
  const child = startChild({
    name: 'edge',
    command: program,
    args: prepare({ folder, port, tlsPort: port + 1, gateways: [addressOf(first), addressOf(second)], changes }),
    env: { HOME: folder },
    onLine: (line) => output.push(line),
  })
  let hasEnded = false
  void child.ended.then(() => {
    hasEnded = true
  })
  await eventually(async () => hasEnded || (await accepts(port)), { what: `${name} listening` })
  if (hasEnded) throw new Error(`${name} does not start: ${output.join('\n')}`)
  return {
    url: `http://127.0.0.1:${port}`,
    tlsUrl: hasTls ? `https://127.0.0.1:${port + 1}` : undefined,
    ca: authority.cert,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function addressOf(gateway: GatewayAddress): string {
  return typeof gateway === 'number' ? `127.0.0.1:${gateway}` : gateway
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (accepted: boolean): void => {
      socket.destroy()
      resolve(accepted)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}

/** Reads a file of deploy. @throws Error if a text to replace is not in it, so that the test runs what is shipped. */
function adapt(file: string, changes: Changes): string {
  return changes.reduce(
    (text, [from, to]) => {
      const changed = text.replaceAll(from, () => to)
      if (changed === text) throw new Error(`${file} does not have ${from}`)
      return changed
    },
    readFileSync(join(DEPLOY, file), 'utf8'),
  )
}

function nginx({ folder, port, tlsPort, gateways, changes }: Place, file: string): string[] {
  const plain = `listen 127.0.0.1:${port};`
  const listen = file.endsWith('proxy/nginx.conf')
    ? ([['listen 8080;', plain]] as const)
    : ([
        [/listen \d+ ssl( http2)?;/g, `${plain} listen 127.0.0.1:${tlsPort} ssl http2;`],
        ['/etc/nginx/certificates', folder],
      ] as const)
  const isCompose = file.startsWith('compose/')
  const config = adapt(file, [
    ...changes,
    ...(isCompose
      ? []
      : ([['listen [::]:443 ssl http2;', `listen ${urlHost(IPV6_HOST)}:${tlsPort} ssl http2;`]] as const)),
    ...(isCompose ? ([['/tmp/', `${folder}/`]] as const) : []),
    ...listen,
    // Tests let gateways fail on purpose, more often than nginx would forgive.
    [/max_fails=\d+/g, 'max_fails=0'],
    [isCompose ? 'gateway-1:8080' : '127.0.0.1:8081', gateways[0]],
    [isCompose ? 'gateway-2:8080' : '127.0.0.1:8082', gateways[1]],
    [/pid \S+;/g, `pid ${folder}/pid;`],
    [/(error_log|access_log) [^;]+;/g, ''],
    // The image of compose knows this directive, and nginx of Debian 12 does not. Above, `listen` has its older form.
    ...(file.endsWith('tls.conf') ? ([['http2 on;', '']] as const) : []),
  ])
  writeFileSync(join(folder, 'nginx.conf'), config)
  if (isCompose) writeFileSync(join(folder, 'common.conf'), adapt('compose/proxy/common.conf', []))
  const settings = `daemon off; master_process off; error_log stderr; lock_file ${folder}/lock;`
  return ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr', '-g', settings]
}

function haproxy({ folder, port, tlsPort, gateways, changes }: Place): string[] {
  const config = adapt('edge/haproxy.cfg', [
    ...changes,
    ['bind :443', `bind 127.0.0.1:${port}\n  bind 127.0.0.1:${tlsPort}`],
    ['bind :::443 v6only', `bind ${IPV6_HOST}:${tlsPort}`],
    ['/etc/haproxy/agents.example.org.pem', join(folder, 'both.pem')],
    ['127.0.0.1:8081', gateways[0]],
    ['127.0.0.1:8082', gateways[1]],
  ])
  writeFileSync(join(folder, 'haproxy.cfg'), config)
  return ['-db', '-f', join(folder, 'haproxy.cfg')]
}

function caddy({ folder, port, tlsPort, gateways, changes }: Place): string[] {
  const tls = `tls ${join(folder, 'fullchain.pem')} ${join(folder, 'privkey.pem')}`
  const config = adapt('edge/Caddyfile', [
    ...changes,
    ['agents.example.org {', `https://:${tlsPort} {\n\tbind 127.0.0.1 ${IPV6_HOST}\n\t${tls}`],
    ['admin off', 'admin off\n\tauto_https off'],
    ['127.0.0.1:8081', gateways[0]],
    ['127.0.0.1:8082', gateways[1]],
  ])
  const site = config.slice(config.indexOf(`https://:${tlsPort}`))
  const plain = site.replace(`https://:${tlsPort}`, `http://:${port}`).replace(tls, '')
  writeFileSync(join(folder, 'Caddyfile'), `${config}\n${plain}`)
  return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
}
