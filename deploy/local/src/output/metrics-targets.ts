/** The metrics address of each process of a local stack. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { urlHost } from '@svc/config/host.ts'
import type { LocalConfig } from '../config.ts'
import { LOOPBACK } from '../engines/loopback.ts'
import { SERVICES } from '../topology.ts'

interface MetricsTarget {
  /** E.g. `messaging-2`. */
  readonly process: string
  readonly port: number
}

const FILE = 'metrics-targets.json'

/** Assigns a port to each process, from `SVC_METRICS_PORT` up; none without that variable. */
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

/**
 * Writes the file for `file_sd_configs` of Prometheus (deploy/observability/prometheus.yml). @returns a function that
 * removes it.
 */
export function writeMetricsTargets(dataDir: string, targets: readonly MetricsTarget[]): () => void {
  const path = join(dataDir, FILE)
  const groups = targets.map(({ process, port }) => ({
    targets: [`${urlHost(LOOPBACK)}:${port}`],
    labels: { process },
  }))
  if (groups.length > 0) writeFileSync(path, `${JSON.stringify(groups, undefined, 2)}\n`)
  return () => rmSync(path, { force: true })
}
