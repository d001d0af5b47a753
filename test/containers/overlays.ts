/** Renders overlays as an operator layers them, with stand-ins for what only a cluster or a provider has. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { KUBERNETES, type Manifest, render, renderWith } from '../deploy/kubernetes/render.ts'
import type { WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'

/** The load sends more than an agent may send for free. */
const PLENTY = '1000000'

interface ProductionPlace {
  /** The digests of the images `svc` and `nats`. */
  readonly digests: Readonly<Record<'svc' | 'nats', string>>
  readonly trustedProxies: string
  /** Gets webhooks, although its address is private. */
  readonly receiver: WebhookReceiver
}

/** `overlays/production`, with a Postgres in place of the managed databases. The Gateway, KEDA and Prometheus are the caller's. */
export function renderProduction({ digests, trustedProxies, receiver }: ProductionPlace): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-overlay-'))
  try {
    copyFileSync(receiver.caFile, join(folder, 'ca.crt'))
    const path = (name: string): string => relative(folder, join(KUBERNETES, name))
    const kustomization = {
      resources: [path('overlays/production')],
      components: [path('components/ca-bundle')],
      images: Object.entries(digests).map(([name, digest]) => ({ name: `registry.example.org/${name}`, digest })),
      configMapGenerator: [
        {
          name: 'settings',
          namespace: 'svc',
          behavior: 'merge',
          literals: [
            `SVC_TRUSTED_PROXIES=${trustedProxies}`,
            `SVC_DAILY_FREE_UNITS=${PLENTY}`,
            `SVC_DAILY_HARD_LIMIT=${PLENTY}`,
          ],
        },
        { name: 'ca-bundle', namespace: 'svc', files: ['ca.crt'] },
      ],
      patches: [
        {
          target: { kind: 'Deployment', name: 'webhook' },
          patch: JSON.stringify([
            {
              op: 'add',
              path: '/spec/template/spec/containers/0/env/-',
              value: { name: 'SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS', value: receiver.host },
            },
          ]),
        },
      ],
    }
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
    const database = renderWith(['postgres']).filter(
      ({ kind, metadata }) => metadata.name === 'postgres' && ['StatefulSet', 'Service'].includes(kind),
    )
    return [...render(folder), ...database]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Removes the users of pods, as docs/operating/platform.md does for platforms that choose them. */
export function withoutUsers(manifests: readonly Manifest[]): Manifest[] {
  return JSON.parse(JSON.stringify(manifests), (key, value) =>
    ['runAsUser', 'runAsGroup', 'fsGroup'].includes(key) ? undefined : value,
  ) as Manifest[]
}

/** Node listens on one family for `0.0.0.0`, and on both for `::`. NATS and Postgres listen on both. */
export function listeningOnIpv6(manifests: readonly Manifest[]): Manifest[] {
  return JSON.parse(JSON.stringify(manifests).replaceAll('"0.0.0.0"', '"::"')) as Manifest[]
}
