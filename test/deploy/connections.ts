/** The most connections to Postgres that a deployment may open, and the most that its Postgres accepts. */
import type { Manifest } from './kubernetes-render.ts'
import { environmentOf, servicesOf, workloadsOf } from './kubernetes-render.ts'

/** Connections that Postgres reserves for its superuser, and some for an operator. */
export const KEPT_CONNECTIONS = 3 + 5
/** During an update a process that drains still has its pool while its successor already has one. */
const PROCESSES_DURING_UPDATE = 2

/** All services at their autoscalers' maxima during an update, plus the commands that migrate and make roles. */
export function connectionsAtMost(manifests: readonly Manifest[]): number {
  const pools = [...servicesOf(manifests)].map(([service, { containers }]) => {
    const pool = Math.max(0, ...containers.map((one) => Number(environmentOf(one, manifests).SVC_DATABASE_POOL ?? 0)))
    return pool === 0 ? 0 : pool * maxReplicasOf(service, manifests) * PROCESSES_DURING_UPDATE
  })
  const commands = manifests.filter(({ kind }) => kind === 'Job').length
  return pools.reduce((sum, connections) => sum + connections, commands)
}

/** The limit of the deployed Postgres; undefined if none is deployed. */
export function connectionLimit(manifests: readonly Manifest[]): number | undefined {
  const postgres = workloadsOf(manifests).find(({ manifest }) => manifest.metadata.name === 'postgres')
  return postgres && limitIn(postgres.containers.flatMap(({ args = [] }) => args))
}

/** @param settings of a server's command line. */
export function limitIn(settings: readonly string[]): number {
  const limit = settings.find((setting) => setting.startsWith('max_connections='))
  return Number(limit?.split('=')[1])
}

function maxReplicasOf(service: string, manifests: readonly Manifest[]): number {
  const scaler = manifests.find(
    ({ kind, metadata }) => ['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind) && metadata.name === service,
  )
  const spec = scaler?.spec as { maxReplicas?: number; maxReplicaCount?: number } | undefined
  return spec?.maxReplicas ?? spec?.maxReplicaCount ?? Number.POSITIVE_INFINITY
}
