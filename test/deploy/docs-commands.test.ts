/**
 * Checks the command lines of the handbooks against the rendered manifests and the tool. Otherwise an operator in a hurry
 * would be the first to find a wrong name.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { svc } from '../../clients/cli/test/run.ts'
import { ROOT } from './facts.ts'
import { environmentOf, KUBERNETES, type Manifest, render, renderWith, workloadsOf } from './kubernetes/render.ts'

const PAGES = readdirSync(join(ROOT, 'docs/operating'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs/operating', name))
const TEXT = PAGES.map((page) => readFileSync(join(ROOT, page), 'utf8')).join('\n')
const ROTATE = readFileSync(join(ROOT, 'docs/operating/rotate.md'), 'utf8')
const KUBECTL = [...TEXT.matchAll(/kubectl [^\n`|;#]*/g)].map(([command]) => command)
const KINDS = / (deployment|statefulset|job|service)[ /]([a-z<][a-z<> -]*)/g

let manifests: Manifest[]
let services: string[]
beforeAll(() => {
  manifests = render(`${KUBERNETES}/overlays/production`)
  services = manifests.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name)
})

/** `<component>` and `<service>` stand for any of them. */
function spell(text: string): string[] {
  return /<(component|service)>/.test(text) ? services.map((name) => text.replace(/<\w+>/, name)) : [text]
}

test('each label in a command is a label of pods', () => {
  const labels = workloadsOf(manifests).flatMap(({ template }) => Object.entries(template.metadata?.labels ?? {}))
  const known = new Set(labels.map(([name, value]) => `${name}=${value}`))
  const asked = KUBECTL.flatMap((command) =>
    [...command.matchAll(/ -l (\S+)/g)].flatMap(([, label = '']) => spell(label)),
  )
  expect(asked.length).toBeGreaterThan(5)
  expect(asked.filter((label) => !known.has(label))).toEqual([])
})

test('each named deployment, stateful set, job and service exists', () => {
  const known = new Set(manifests.map(({ kind, metadata }) => `${kind.toLowerCase()} ${metadata.name}`))
  const named = KUBECTL.flatMap((command) =>
    [...command.matchAll(KINDS)].flatMap(([, kind = '', words = '']) => {
      const [names = ''] = words.split(/ -|$/)
      return names
        .trim()
        .split(/ +/)
        .flatMap(spell)
        .map((name) => `${kind} ${name}`)
    }),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !known.has(name) && !name.endsWith(' <job>'))).toEqual([]) // the reader's own job
})

test('each applied overlay exists, from the root of the repository', () => {
  const applied = KUBECTL.flatMap((command) => [...command.matchAll(/ -k (\S+)/g)].map(([, path = '']) => path))
  expect(applied.length).toBeGreaterThan(3)
  expect(applied.filter((path) => !existsSync(join(ROOT, path, 'kustomization.yaml')))).toEqual([])
})

test('each command names the namespace that it applies to', () => {
  const said = KUBECTL.filter(
    (command) =>
      !/^kubectl (-n (svc|<namespace>)|apply|cert-manager|kustomize|replace|label namespace|create namespace) /.test(
        command,
      ),
  )
  expect(said).toEqual([])
})

test('docs/operating/rotate.md: with the patch, the job creates the other login', () => {
  const [, patch = ''] = /```yaml\n([\s\S]*?)```/.exec(ROTATE) ?? []
  const rendered = renderWith(['database-roles'], `patches:\n${patch}`)
  const jobs = workloadsOf(rendered).filter(({ manifest }) => manifest.metadata.name.startsWith('roles-'))
  const logins = jobs.flatMap(({ containers }) =>
    containers.map((each) => environmentOf(each, rendered).SVC_DATABASE_LOGIN),
  )
  expect(logins.toSorted()).toEqual(['boards', 'budget', 'identity', 'messaging_b', 'stream', 'webhook'])
})

test('each command of the operator exists', async () => {
  const named = new Set([...TEXT.matchAll(/svc admin ([a-z]+)(?: (show|retry))?/g)].map(([command]) => command))
  expect(named.size).toBeGreaterThan(4)
  for (const command of named) {
    const { stdout } = await svc([...command.split(' ').slice(1), '--help'])
    expect(stdout).toContain(`Usage: ${command} `)
  }
})
