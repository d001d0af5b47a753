/** The most connections to Postgres that a deployment may open, and the most that its Postgres accepts. */
import type { Manifest } from './kubernetes/render.ts'
import { environmentOf, servicesOf, workloadsOf } from './kubernetes/render.ts'

/** Connections that Postgres reserves for its superuser, plus some for an operator. */
export const KEPT_CONNECTIONS = 3 + 5
/** During an update, a draining process still has its pool when its successor already has one. */
const PROCESSES_DURING_UPDATE = 2

/** One row of the budget: who connects, and with how many connections. */
interface ConnectionRow {
  readonly who: string
  /** Connections of one process. */
  readonly pool: number
  /** The autoscaler's minimum and maximum of processes. */
  readonly processes: readonly [number, number]
  /** Connections at the minimum, at the maximum, and at the maximum during an update. */
  readonly connections: readonly [number, number, number]
}

/** A row for every service with a store, then one for the jobs (migrations and roles), as in `docs/operating/scale.md`. */
export function connectionRows(manifests: readonly Manifest[]): ConnectionRow[] {
  const services = [...servicesOf(manifests)].flatMap(([service, { containers }]) => {
    const pool = Math.max(0, ...containers.map((one) => Number(environmentOf(one, manifests).SVC_DATABASE_POOL ?? 0)))
    if (pool === 0) return []
    const [least, most] = replicasOf(service, manifests)
    const connections = [pool * least, pool * most, pool * most * PROCESSES_DURING_UPDATE] as const
    return [{ who: service, pool, processes: [least, most] as const, connections }]
  })
  const jobs = manifests.filter(({ kind }) => kind === 'Job').length
  return [...services, { who: 'jobs', pool: 1, processes: [0, jobs], connections: [0, jobs, jobs] }]
}

/** The sum for all services at their autoscalers' maxima during an update, and for the jobs (migrations and roles). */
export function connectionsAtMost(manifests: readonly Manifest[]): number {
  return connectionRows(manifests).reduce((sum, { connections: [, , duringUpdate] }) => sum + duringUpdate, 0)
}

/** The limit of the deployed Postgres; undefined if none is deployed. */
export function connectionLimit(manifests: readonly Manifest[]): number | undefined {
  const postgres = workloadsOf(manifests).find(({ manifest }) => manifest.metadata.name === 'postgres')
  return postgres && limitIn(postgres.containers.flatMap(({ args = [] }) => args))
}

/** @param settings on a server's command line. */
export function limitIn(settings: readonly string[]): number {
  const limit = settings.find((setting) => setting.startsWith('max_connections='))
  return Number(limit?.split('=')[1])
}

function replicasOf(service: string, manifests: readonly Manifest[]): [least: number, most: number] {
  const scaler = manifests.find(
    ({ kind, metadata }) => ['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind) && metadata.name === service,
  )
  const spec = (scaler?.spec ?? {}) as Record<string, number | undefined>
  return [
    spec.minReplicas ?? spec.minReplicaCount ?? 0,
    spec.maxReplicas ?? spec.maxReplicaCount ?? Number.POSITIVE_INFINITY,
  ]
}
