import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE } from '@svc/contracts/limits.ts'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { PNPM } from '../../image/oci/app.ts'
import { ROOT } from '../src/artifacts.ts'
import { publishCommands } from '../src/commands.ts'
import { type Facts, findMissing, readFacts } from '../src/missing.ts'

const READY: Facts = {
  version: '2.0.0',
  versions: { 'libs/a/package.json': '2.0.0' },
  changelog: '# Changelog\n\n## 2.0.0, 2026-12-01\n\n## 1.0.0, 2026-01-01\n',
  changes: [],
  tags: ['v2.0.0'],
  hasLicence: true,
  owner: { licence: 'Apache-2.0' },
  image: 'registry.example.org/svc',
}

const CHART = `${SERVICE.name}-2.0.0.tgz`

test('a release that lacks nothing is ready', () => {
  expect(findMissing(READY)).toEqual([])
})

test.each<[Partial<Facts>, string]>([
  [{ versions: { 'libs/a/package.json': '1.9.0' } }, 'libs/a/package.json has the version 1.9.0'],
  [{ changelog: '## 2.0.0, unreleased\n' }, 'CHANGELOG.md begins with "## 2.0.0, unreleased"'],
  [{ changelog: '## 2.0.01, 2026-12-01\n' }, 'CHANGELOG.md begins with'],
  [{ changes: [' M README.md'] }, '1 files are not committed'],
  [{ tags: ['v1.0.0'] }, 'the commit has no tag v2.0.0'],
  [{ hasLicence: false }, 'there is no file LICENSE'],
  [{ owner: { licence: 'OWNER chooses' } }, 'licence is not chosen'],
  [{ image: undefined }, 'RELEASE_IMAGE is not set'],
])('%o is named', (change, problem) => {
  expect(findMissing({ ...READY, ...change })).toEqual([expect.stringContaining(problem)])
})

test('every manifest of the workspace has the same version', () => {
  const { version, versions } = readFacts({})
  expect(Object.keys(versions).length).toBeGreaterThan(20)
  expect(new Set(Object.values(versions))).toEqual(new Set([version]))
})

test.each<[string, RegExp]>([
  ['deploy/compose/compose.yaml', /\bsvc:(\d[\w.]*)/],
  ['deploy/kubernetes/overlays/trial/kustomization.yaml', /newTag: (\S+)/],
  ...['trial', 'production', 'platform'].map((overlay): [string, RegExp] => [
    `deploy/kubernetes/overlays/${overlay}/release.yaml`,
    /^suffix: -(\S+)/m,
  ]),
])('%s names the version of package.json', (path, pattern) => {
  const [, version = ''] = pattern.exec(readFileSync(join(ROOT, path), 'utf8')) ?? []
  expect(version.replaceAll('-', '.')).toBe(readFacts({}).version)
})

test('what is signed is what was pushed, by its digest', () => {
  const image = 'registry.example.org/svc'
  const files = ['image.cdx.json', CHART, 'svc-sdk-2.0.0.tgz', 'manifests-2.0.0.tar.gz', 'image.digest']
  const commands = publishCommands({ version: '2.0.0', image, digest: 'sha256:aa', files })
  expect(commands.map((command) => command.join(' '))).toEqual([
    `skopeo copy --all --preserve-digests oci:image:2.0.0 docker://${image}:2.0.0`,
    `cosign sign --yes ${image}@sha256:aa`,
    `cosign attest --yes --type cyclonedx --predicate image.cdx.json ${image}@sha256:aa`,
    `helm push ${CHART} oci://registry.example.org`,
    'npm publish --access public ./svc-sdk-2.0.0.tgz',
    expect.stringMatching(
      /^gh release create v2\.0\.0 .* image\.cdx\.json \S+ svc-sdk-2\.0\.0\.tgz manifests-2\.0\.0\.tar\.gz$/,
    ),
  ])
})

test('releases, their image, and the container of the local stack are made with one version of pnpm', () => {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
  const used = [...read('.github/workflows/release.yml').matchAll(/npx --yes (\S+)/g)].map(([, one]) => one)
  expect(new Set(used)).toEqual(new Set([PNPM]))
  expect(read('deploy/local/Dockerfile')).toContain(`ARG PNPM_VERSION=${PNPM.replace('pnpm@', '')}\n`)
})

interface Workflow {
  jobs: Record<string, { uses?: string; steps?: { uses?: string; run?: string }[] }>
}

test.each(globSync('.github/workflows/*.yml', { cwd: ROOT }))('%s: actions are pinned, and scripts exist', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const steps = Object.values((parse(text) as Workflow).jobs).flatMap((job) => job.steps ?? [])
  const uses = steps.flatMap((step) => step.uses ?? [])
  expect(uses.filter((one) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(one))).toEqual([])
  for (const one of uses) expect(text).toMatch(new RegExp(`${one} # v\\d+\\.\\d+\\.\\d+\n`))
  for (const step of steps) {
    const [, script] = /\bpnpm(?:@\S+)? (?!install)([\w:]+)/.exec(step.run ?? '') ?? []
    if (script !== undefined) expect(Object.keys(scripts)).toContain(script)
  }
})
