/** deploy/kubernetes/examples: objects for the other tools of a platform team. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readFacts } from './facts.ts'
import { find, specOf } from './kubernetes/manifest-parts.ts'
import {
  KUBERNETES,
  type Manifest,
  nameOf,
  render,
  renderOverlay,
  renderWith,
  workloadsOf,
} from './kubernetes/render.ts'
import { findSchemaProblems } from './kubernetes/schema.ts'

const EXAMPLES = join(KUBERNETES, 'examples')
const read = (file: string): Manifest[] =>
  parseAllDocuments(readFileSync(join(EXAMPLES, file), 'utf8')).map((one) => one.toJS() as Manifest)
const idOf = (manifest: Manifest): string => `${manifest.kind} ${manifest.metadata.name}`
/** CloudNativePG publishes no schemas on npm. The test below checks the fields that matter. */
const WITHOUT_SCHEMA = /^(postgresql|barmancloud)\.cnpg\.io\//

test('all are valid for Kubernetes, Argo CD, Flux, cert-manager and External Secrets, without unknown fields', async () => {
  const files = globSync('**/*.yaml', { cwd: EXAMPLES }).filter((file) => !file.endsWith('kustomization.yaml'))
  const manifests = files.flatMap(read)
  expect(files.length).toBeGreaterThan(5)
  expect(await findSchemaProblems(manifests.filter(({ apiVersion }) => !WITHOUT_SCHEMA.test(apiVersion)))).toEqual([])
})

test('Flux applies every object of the overlay once: first jobs and their dependencies, then the rest', () => {
  const [migrations, services] = [render(join(EXAMPLES, 'flux/migrations')), render(join(EXAMPLES, 'flux/services'))]
  const all = renderOverlay('production').map(idOf)
  expect([...migrations, ...services].map(idOf).toSorted()).toEqual(all.toSorted())
  const here = new Set(migrations.map(idOf))
  for (const { manifest, template } of workloadsOf(migrations)) {
    expect(manifest.kind).toBe('Job')
    expect(here).toContain(`ServiceAccount ${template.spec?.serviceAccountName}`)
    expect(manifest.spec).not.toHaveProperty('ttlSecondsAfterFinished') // Flux would create the job again after its removal
  }
  expect(here).toContain('NetworkPolicy to-external-databases')
  const flux = read('flux/flux.yaml')
  expect(specOf(flux, 'Kustomization', 'svc-services').dependsOn).toEqual([{ name: 'svc-migrations' }])
  for (const name of ['migrations', 'services']) {
    const { path, wait, prune } = specOf(flux, 'Kustomization', `svc-${name}`)
    expect([path, wait, prune]).toEqual([`./deploy/kubernetes/examples/flux/${name}`, true, true])
  }
})

test('Argo CD applies settings and policies first, then roles, then migrations as hooks, then the services', () => {
  const waves = new Map<string, Set<number>>()
  for (const manifest of render(join(EXAMPLES, 'argo-cd/svc'))) {
    const notes = manifest.metadata.annotations ?? {}
    const what = manifest.kind === 'Job' ? nameOf(manifest).replace(/-.*/, '') : manifest.kind
    waves.set(what, (waves.get(what) ?? new Set()).add(Number(notes['argocd.argoproj.io/sync-wave'] ?? 0)))
    const hook = [notes['argocd.argoproj.io/hook'], notes['argocd.argoproj.io/hook-delete-policy']]
    expect(hook).toEqual(manifest.kind === 'Job' ? ['Sync', 'BeforeHookCreation'] : [undefined, undefined])
  }
  const inOrder = ['ServiceAccount', 'NetworkPolicy', 'ConfigMap', 'roles', 'migrate', 'Deployment'].map((what) => [
    ...(waves.get(what) ?? []),
  ])
  expect(inOrder).toEqual([[0], [0], [0], [1], [2], [3]])
  const application = find(read('argo-cd/application.yaml'), 'Application', 'svc')
  expect(application.spec).toMatchObject({ source: { path: 'deploy/kubernetes/examples/argo-cd/svc' } })
})

test('Argo CD’s waves keep the annotations that an edge needs', () => {
  for (const [component, kind] of [
    ['ingress', 'Ingress'],
    ['openshift', 'Route'],
  ] as const) {
    const [before, after] = [[component], [component, 'argo-cd']].map(
      (components) => find(renderWith(components), kind, 'gateway').metadata.annotations,
    )
    expect(Object.keys(before ?? {})).toHaveLength(4)
    expect(after).toEqual({ ...before, 'argocd.argoproj.io/sync-wave': '3' })
  }
})

test('Flux’s two parts have every kind of object of all components, each once', () => {
  const all = [
    'nats',
    'postgres',
    'database-roles',
    'verify',
    'backup',
    'priority',
    'monitoring',
    'ingress',
    'openshift',
    'keda',
  ]
  const [first = [], then = []] = ['services', 'migrations'].map((part) => {
    const text = readFileSync(join(EXAMPLES, `flux/${part}/kustomization.yaml`), 'utf8')
    return /kind: (.*\|.*)/.exec(text)?.[1]?.split('|')
  })
  const kinds = new Set([...renderWith(all), ...renderWith(['gateway-api'])].map(({ kind }) => kind))
  expect([...first, ...then].toSorted()).toEqual(expect.arrayContaining([...kinds]))
  expect(first.filter((kind) => then.includes(kind))).toEqual([])
})

/** The Secrets that pods mount or read variables from, in a deployment with every component. */
function secretsInUse(): Set<string> {
  const manifests = renderWith(['nats', 'nats-tls', 'nats-client-tls', 'database-roles'])
  return new Set(
    workloadsOf(manifests).flatMap(({ template, containers }) => [
      ...(template.spec?.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []),
      ...containers.flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? [])),
    ]),
  )
}

test('cert-manager and External Secrets make every Secret that a pod or the operator uses', () => {
  const certificates = read('cert-manager/nats.yaml').filter(({ kind }) => kind === 'Certificate')
  const external = read('external-secrets/secrets.yaml').filter(({ kind }) => kind === 'ExternalSecret')
  const made = [
    ...certificates.map(({ spec }) => (spec as { secretName: string }).secretName),
    ...external.map(({ spec }) => (spec as { target: { name: string } }).target.name),
  ]
  expect(made.filter((name) => !['nats-authority', 'admin', 'admin-nats-tls'].includes(name)).toSorted()).toEqual(
    [...secretsInUse()].toSorted(),
  )
  const listed = new Set([...readFacts().secretKeys].map((key) => key.split('/')[0]))
  listed.delete('postgres') // Only components/postgres uses this Secret.
  expect(external.map(({ metadata }) => metadata.name).toSorted()).toEqual([...listed].toSorted())
})

test("the certificate of the NATS servers covers every host in the services' URLs and in the routes", () => {
  const { dnsNames, usages } = specOf(read('cert-manager/nats.yaml'), 'Certificate', 'nats-tls') as Record<
    string,
    string[]
  >
  const [nats] = workloadsOf(renderWith(['nats'])).filter(({ manifest }) => manifest.metadata.name === 'nats')
  const routes = nats?.containers[0]?.env?.find(({ name }) => name === 'SVC_NATS_ROUTES')?.value ?? ''
  const hosts = [...routes.matchAll(/@([\w.-]+):6222/g)].map(([, host]) => host)
  expect(hosts).toHaveLength(3)
  expect(dnsNames).toEqual(expect.arrayContaining(['nats', ...hosts]))
  expect(usages).toEqual(['server auth', 'client auth']) // Of two servers that a route connects, one is the client.
})

/** The requests of each command of `kubectl` in rotate.sh. `rollout status`, `wait` and `delete` list and watch. */
const REQUESTS: Readonly<Record<string, readonly [resource: string, ...verbs: string[]]>> = {
  'annotate externalsecret': ['externalsecrets', 'get', 'patch'],
  'annotate pod': ['pods', 'list', 'patch'],
  'apply --server-side': ['secrets', 'get', 'create', 'patch'],
  'apply jobs': ['jobs', 'get', 'create', 'patch'],
  'create secret': ['secrets'], // with --dry-run=client
  'delete job': ['jobs', 'list', 'watch', 'delete'],
  'delete pod': ['pods', 'list', 'watch', 'delete'],
  exec: ['pods/exec', 'get', 'create'],
  'get externalsecret': ['externalsecrets', 'get'],
  'get pod': ['pods', 'get', 'list'],
  'get secret': ['secrets', 'get'],
  logs: ['pods/log', 'get'],
  'rollout restart': ['deployments', 'get', 'patch'],
  'rollout status': ['deployments', 'get', 'list', 'watch'],
  'rollout status statefulset': ['statefulsets', 'get', 'list', 'watch'],
  wait: ['jobs', 'get', 'list', 'watch'],
}

test('rotate: the role allows every request of rotate.sh, and applies nothing but jobs', () => {
  const script = readFileSync(join(KUBERNETES, 'rotate.sh'), 'utf8')
  const commands = [...script.matchAll(/(?:^|[;|(] ?)\s*kube(?:ctl)? ([a-z]+ \S+)/gm)].map(([, text = '']) => text)
  const unknown = commands.filter((one) => !(one in REQUESTS) && !((one.split(' ')[0] ?? '') in REQUESTS))
  expect(unknown).toEqual([])
  expect(commands.length).toBeGreaterThan(15)
  const { rules } = find(read('rotate/role.yaml'), 'Role', 'rotate') as unknown as {
    rules: { resources: string[]; verbs: string[] }[]
  }
  const missing = Object.entries(REQUESTS).filter(([, [resource, ...verbs]]) => {
    const allowed = rules.filter(({ resources }) => resources.includes(resource)).flatMap(({ verbs }) => verbs)
    return verbs.some((verb) => !allowed.includes(verb))
  })
  expect(missing).toEqual([])
  const roles = renderOverlay('production').filter(({ metadata }) =>
    /^roles-/.test(metadata.labels?.['app.kubernetes.io/name'] ?? ''),
  )
  expect(new Set(roles.map(({ kind }) => kind))).toEqual(new Set(['Job']))
})

test.each([
  ['cluster', 'svc'],
  ['restore', 'svc-restored'],
])(
  'CloudNativePG: %s.yaml is durable, accepts the connections of docs/operating/scale.md, and archives under its own name',
  (file, name) => {
    const spec = specOf(read(`cloudnative-pg/${file}.yaml`), 'Cluster', name)
    const page = readFileSync(join(KUBERNETES, '../../docs/operating/scale.md'), 'utf8')
    const [, budget] = /`max_connections`[^\n]*\| (\d+) +\|\n/.exec(page) ?? []
    expect(spec).toMatchObject({
      instances: 3,
      imageName: expect.stringMatching(/@sha256:/),
      postgresql: {
        synchronous: { method: 'any', number: 1, dataDurability: 'required' },
        parameters: { synchronous_commit: 'on', full_page_writes: 'on', max_connections: budget },
      },
      affinity: { podAntiAffinityType: 'required' },
      plugins: [{ isWALArchiver: true, parameters: { barmanObjectName: 'svc', serverName: name } }],
    })
  },
)

test('CloudNativePG: a backup runs each night, and a new cluster is restored from it to a point in time', () => {
  const manifests = read('cloudnative-pg/cluster.yaml')
  expect(specOf(manifests, 'ScheduledBackup', 'svc')).toMatchObject({ cluster: { name: 'svc' }, method: 'plugin' })
  expect(find(manifests, 'ObjectStore', 'svc').metadata.namespace).toBe('svc-databases')
  expect(specOf(read('cloudnative-pg/restore.yaml'), 'Cluster', 'svc-restored')).toMatchObject({
    bootstrap: { recovery: { source: 'svc', recoveryTarget: { targetTime: expect.any(String) } } },
    externalClusters: [{ name: 'svc', plugin: { parameters: { barmanObjectName: 'svc', serverName: 'svc' } } }],
  })
})
