/** The addresses of gateways and metrics, and the check that their ports are free. */
import { urlHost } from '@svc/config/host.ts'
import type { LocalConfig } from '../config.ts'
import { LOOPBACK } from '../engines/loopback.ts'
import { isPortFree } from '../engines/ports.ts'
import { metricsTargets } from '../output/metrics-targets.ts'
import { codeOf, StartError } from '../start-error.ts'

/** @throws StartError if another program uses one of the ports. */
export async function checkPorts(config: LocalConfig): Promise<void> {
  for (const port of gatewayPorts(config)) {
    let free: boolean
    try {
      free = await isPortFree(port, config.httpHost)
    } catch (error) {
      throw new StartError(
        `The gateway cannot listen on port ${port} of ${config.httpHost} (${codeOf(error)}): set SVC_HTTP_PORT to another port.`,
      )
    }
    if (!free)
      throw new StartError(
        `Port ${port} is in use by another program: end that program, or set SVC_HTTP_PORT to another port.`,
      )
  }
  for (const { port } of metricsTargets(config)) {
    if (!(await isPortFree(port)))
      throw new StartError(
        `Port ${port}, for metrics, is in use by another program: end that program, or set SVC_METRICS_PORT to another port.`,
      )
  }
}

function gatewayPorts({ httpPort, replicas }: LocalConfig): number[] {
  return Array.from({ length: replicas.gateway }, (_, at) => httpPort + at)
}

export function gatewayUrls(config: LocalConfig): string[] {
  return gatewayPorts(config).map((port) => `http://${reachableHost(config.httpHost)}:${port}`)
}

/** The host under which this machine reaches a gateway that listens on `host`. */
function reachableHost(host: string): string {
  return urlHost(['0.0.0.0', '::'].includes(host) ? LOOPBACK : host)
}
