/** Requests and limits of memory, compared with what docs/performance.md measured. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../facts.ts'
import { containerOf } from './manifest-parts.ts'
import { renderOverlay } from './render.ts'

const MIB = 1024 * 1024
/** An unread connection may exceed its bound by one segment. */
const SEGMENT_BYTES = 64 * 1024
const UNREAD_CONNECTIONS = 250

const page = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8')
const manifests = renderOverlay('production')

/** The most that `npx pnpm bench overload` saw of each process, in MiB. */
const peaks = [...page.matchAll(/^\| ([a-z]+) +\| +\d+ +\| (\d+) +\| (\d+) +\|$/gm)].map(
  ([, name = '', most, after]) => [name, Math.max(Number(most), Number(after))] as const,
)
/** The most that `npx pnpm bench hostile` saw of the gateway, in MiB: the last column. */
const [, hostile = ''] = /<!-- run hostile([\s\S]*?)<!-- end of run -->/.exec(page) ?? []
const attacked = Math.max(...[...hostile.matchAll(/\| (\d+) +\|$/gm)].map(([, most]) => Number(most)))

function memoryOf(service: string): { request: number; limit: number } {
  const { requests, limits } = containerOf(manifests, service).resources as Record<string, { memory: string }>
  return { request: Number.parseInt(requests?.memory ?? '', 10), limit: Number.parseInt(limits?.memory ?? '', 10) }
}

/** The smallest limit, in MiB, of the containers in deploy/compose that run this service. */
function composeMemoryOf(service: string): number {
  const { services } = parse(readFileSync(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8'), {
    merge: true,
    maxAliasCount: -1,
  }) as {
    services: Record<string, { command?: string[]; deploy?: { resources: { limits: { memory: string } } } }>
  }
  const found = Object.values(services).filter(({ command }) => command?.[0] === `${service}.js`)
  return Math.min(...found.map(({ deploy }) => Number.parseInt(deploy?.resources.limits.memory ?? '', 10)))
}

test('a process under overload stays within its request, and twice that within its limit', () => {
  expect(peaks.map(([name]) => name).toSorted()).toEqual(
    ['nats', 'boards', 'budget', 'gateway', 'identity', 'messaging', 'stream', 'webhook'].toSorted(),
  )
  for (const [service, most] of peaks) {
    const { request, limit } = memoryOf(service)
    expect([service, request >= most, limit >= 2 * most]).toEqual([service, true, true])
    if (service !== 'nats') expect([service, composeMemoryOf(service) >= 2 * most]).toEqual([service, true])
  }
})

test('the gateway’s limit holds what attacks take, and the buffers of 250 unread connections', () => {
  const pod = JSON.stringify(
    manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'gateway'),
  )
  const [, bytes] = /"net\.ipv4\.tcp_wmem","value":"\d+ \d+ (\d+)"/.exec(pod) ?? []
  const buffers = (UNREAD_CONNECTIONS * (Number(bytes) + SEGMENT_BYTES)) / MIB
  expect(attacked).toBeGreaterThan(300)
  expect(memoryOf('gateway').limit).toBeGreaterThan(attacked + buffers)
  expect(composeMemoryOf('gateway')).toBeGreaterThan(attacked + buffers)
})
