/** Renders overlays as an operator layers them, with stand-ins for what only a cluster or a provider has. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { KUBERNETES, type Manifest, render, renderWith } from '../deploy/kubernetes/render.ts'
import type { WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'

/** Units of a day: the load needs more than the free ones. */
const PLENTY = '1000000'

interface Place {
  /** Gets webhooks, although its address is private. */
  readonly receiver: WebhookReceiver
  readonly settings?: readonly string[]
  readonly images?: readonly object[]
}

interface ProductionPlace extends Pick<Place, 'receiver'> {
  /** The digests of the images `svc` and `nats`. */
  readonly digests: Readonly<Record<'svc' | 'nats', string>>
  readonly trustedProxies: string
}

/** `overlays/production`, with a Postgres in place of the managed databases. Nothing stands in for the Gateway, KEDA and Prometheus. */
export function renderProduction({ digests, trustedProxies, receiver }: ProductionPlace): Manifest[] {
  const database = renderWith(['postgres']).filter(
    ({ kind, metadata }) => metadata.name === 'postgres' && ['StatefulSet', 'Service'].includes(kind),
  )
  const images = Object.entries(digests).map(([name, digest]) => ({ name: `registry.example.org/${name}`, digest }))
  const settings = [`SVC_TRUSTED_PROXIES=${trustedProxies}`]
  return [...renderOn('production', [], { receiver, settings, images }), ...database]
}

export function renderOn(
  overlay: 'trial' | 'production',
  components: readonly string[],
  { receiver, settings = [], images = [] }: Place,
): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-overlay-'))
  try {
    const path = (name: string): string => relative(folder, join(KUBERNETES, name))
    copyFileSync(receiver.caFile, join(folder, 'ca.crt'))
    const kustomization = {
      resources: [path(`overlays/${overlay}`)],
      components: [...components, 'ca-bundle'].map((name) => path(`components/${name}`)),
      images,
      configMapGenerator: [
        {
          name: 'settings',
          namespace: 'svc',
          behavior: 'merge',
          literals: [...settings, `SVC_DAILY_FREE_UNITS=${PLENTY}`, `SVC_DAILY_HARD_LIMIT=${PLENTY}`],
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
    return render(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
