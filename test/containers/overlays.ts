/** Renders overlays as an operator layers them, with stand-ins for what only a cluster or a provider has. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { KUBERNETES, type Manifest, render, renderWith } from '../deploy/kubernetes/render.ts'
import type { WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'

/** Units of a day: the load needs more than the free ones. */
const PLENTY = '1000000'

interface ProductionPlace {
  /** The digests of the images `svc` and `nats`. */
  readonly digests: Readonly<Record<'svc' | 'nats', string>>
  readonly trustedProxies: string
  /** Gets webhooks, although its address is private. */
  readonly receiver: WebhookReceiver
}

/** `overlays/production`, with a Postgres in place of the managed databases. Nothing stands in for the Gateway, KEDA and Prometheus. */
export function renderProduction({ digests, trustedProxies, receiver }: ProductionPlace): Manifest[] {
  const database = renderWith(['postgres']).filter(
    ({ kind, metadata }) => metadata.name === 'postgres' && ['StatefulSet', 'Service'].includes(kind),
  )
  const production = renderOn('production', ['ca-bundle'], (folder) => {
    copyFileSync(receiver.caFile, join(folder, 'ca.crt'))
    return {
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
  })
  return [...production, ...database]
}

/** @param more writes files into the folder of the kustomization. @returns further fields of the kustomization. */
export function renderOn(
  overlay: 'trial' | 'production',
  components: readonly string[],
  more: (folder: string) => object = () => ({}),
): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-overlay-'))
  try {
    const path = (name: string): string => relative(folder, join(KUBERNETES, name))
    const kustomization = {
      resources: [path(`overlays/${overlay}`)],
      components: components.map((name) => path(`components/${name}`)),
      ...more(folder),
    }
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
    return render(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
