/** Where each process of a local stack answers for its metrics, where that is wanted. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LocalConfig } from './config.ts'
import { SERVICES } from './topology.ts'

export interface MetricsTarget {
  /** `messaging-2` */
  readonly process: string
  readonly port: number
}

const FILE = 'metrics-targets.json'

/** A port for each process, from `SVC_METRICS_PORT` on; none without it. */
export function metricsTargets({
  metricsPort,
  replicas,
}: Pick<LocalConfig, 'metricsPort' | 'replicas'>): MetricsTarget[] {
  if (metricsPort === undefined) return []
  const processes = SERVICES.flatMap((service) =>
    Array.from({ length: replicas[service] }, (_, at) => `${service}-${at + 1}`),
  )
  return processes.map((process, at) => ({ process, port: metricsPort + at }))
}

/** For `file_sd_configs` of Prometheus (deploy/observability/prometheus.yml). @returns what removes it. */
export function writeMetricsTargets(dataDir: string, targets: readonly MetricsTarget[]): () => void {
  const path = join(dataDir, FILE)
  const groups = targets.map(({ process, port }) => ({ targets: [`127.0.0.1:${port}`], labels: { process } }))
  if (groups.length > 0) writeFileSync(path, `${JSON.stringify(groups, undefined, 2)}\n`)
  return () => rmSync(path, { force: true })
}
