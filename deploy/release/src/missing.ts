import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OWNER, PLACEHOLDER } from '@svc/npm/packages.ts'
import { ROOT } from './artifacts.ts'

export interface Facts {
  readonly version: string
  /** Versions in the other manifests of the workspace, by path. */
  readonly versions: Readonly<Record<string, string>>
  readonly changelog: string
  /** What `git status` lists. */
  readonly changes: readonly string[]
  /** On the last commit. */
  readonly tags: readonly string[]
  readonly hasLicence: boolean
  readonly owner: Readonly<Record<string, string>>
  /** `RELEASE_IMAGE`. */
  readonly image: string | undefined
}

export function readFacts(environment: NodeJS.ProcessEnv): Facts {
  const paths = globSync(['{clients,libs,services,deploy}/*/package.json', 'test/package.json'], { cwd: ROOT })
  return {
    version: versionIn('package.json'),
    versions: Object.fromEntries(paths.map((path) => [path, versionIn(path)])),
    changelog: readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--points-at', 'HEAD'),
    hasLicence: existsSync(join(ROOT, 'LICENSE')),
    owner: OWNER,
    image: environment.RELEASE_IMAGE || undefined,
  }
}

/** @returns a sentence for each thing that keeps this commit from being a release. */
export function findMissing(facts: Facts): string[] {
  const { version, versions, changelog, changes, tags, hasLicence, owner, image } = facts
  const others = Object.keys(versions).filter((path) => versions[path] !== version)
  const open = Object.keys(owner).filter((name) => owner[name]?.startsWith(PLACEHOLDER))
  const [heading = 'no heading'] = /^## .*$/m.exec(changelog) ?? []
  const isDated = heading.startsWith(`## ${version}, `) && /, \d{4}-\d{2}-\d{2}$/.test(heading)
  return [
    ...others.map((path) => `${path} has the version ${versions[path]}, and package.json has ${version}`),
    ...(isDated ? [] : [`CHANGELOG.md begins with "${heading}": write "## ${version}, <YYYY-MM-DD>"`]),
    ...(changes.length === 0 ? [] : [`${changes.length} files are not committed, for example "${changes[0]}"`]),
    ...(tags.includes(`v${version}`) ? [] : [`the commit has no tag v${version}: git tag --sign v${version}`]),
    ...(hasLicence ? [] : ['there is no file LICENSE']),
    ...open.map((name) => `${name} is not chosen: set it in deploy/npm/src/packages.ts`),
    ...(image === undefined ? ['RELEASE_IMAGE is not set: name the image, such as registry.example.org/svc'] : []),
  ]
}

function versionIn(path: string): string {
  return (JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as { version: string }).version
}

function git(...args: string[]): string[] {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
}
