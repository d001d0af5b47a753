/**
 * Finds in the code which service makes which calls, and reads the permissions of each user from deploy/nats/users.conf.
 * Pure: the caller passes the files.
 */
import { isTest, packageOf, readPackageFolders } from '../check/imports/imports.ts'
import type { SourceFile } from '../check/source-file.ts'

export interface Use {
  /** A service, or `admin` for the operator's tool. */
  readonly caller: string
  /** `svc.<service>.<call>`; `*` stands for a part that is known only at run time. */
  readonly subject: string
}

export interface Rights {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** The calls of the contracts in one file. */
interface FileUse {
  readonly folder: string
  readonly asked: readonly string[]
  readonly served: readonly string[]
}

const IMPORTS = /(?:import|const) (?:\{([^}]*)\}|\* as (\w+)) (?:from|= await import\() ?'@svc\/contracts\/([^']+)'/g
const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

export const SERVICES = ['gateway', 'identity', 'messaging', 'boards', 'budget', 'stream', 'webhook'] as const

/** @returns every call that the code makes, each once, in the order of callers and subjects. */
export function readUses(files: readonly SourceFile[]): Use[] {
  const contracts = readContracts(files)
  const perFile = files.flatMap((file) => readFileUse(file, contracts))
  const perCaller = new Map([...SERVICES, 'admin'].map((name) => [name, foldersOf(name, files)]))
  const subjectsOf = (name: string, kind: 'asked' | 'served'): string[] =>
    perFile.filter(({ folder }) => perCaller.get(name)?.has(folder)).flatMap((use) => use[kind])
  const serving = (subject: string): string[] => SERVICES.filter((name) => subjectsOf(name, 'served').includes(subject))

  const uses = [...perCaller.keys()].flatMap((caller) => {
    const subjects = subjectsOf(caller, 'asked').flatMap((subject) => {
      if (subject.split('.')[1] !== '*') return [subject]
      const others = serving(subject).filter((name) => name !== caller)
      return others.map((name) => subject.replace('*', name))
    })
    return [...new Set(subjects)].toSorted().map((subject) => ({ caller, subject }))
  })
  return uses
}

/** @returns the permissions of each user of deploy/nats/users.conf, by user. */
export function readRights(usersConf: string): ReadonlyMap<string, Rights> {
  const text = usersConf.replaceAll(/^\s*#.*$/gm, '')
  const listOf = (block: string, kind: string): string[] => {
    const [, list = ''] = new RegExp(`${kind}: \\[([^\\]]*)\\]`).exec(block) ?? []
    return [...list.matchAll(/"([^"]+)"/g)].map(([, subject = '']) => subject)
  }
  return new Map(
    [...text.matchAll(/^MAY_(\w+): \{([\s\S]*?)^\}/gm)].map(([, user = '', block = '']) => [
      user.toLowerCase(),
      { publish: listOf(block, 'publish'), subscribe: listOf(block, 'subscribe') },
    ]),
  )
}

/** Whether one NATS pattern covers every subject of another. */
export function covers(pattern: string, subject: string): boolean {
  const parts = subject.split('.')
  const wanted = pattern.split('.')
  if (wanted.at(-1) === '>') return parts.length >= wanted.length && fits(wanted.slice(0, -1))
  return parts.length === wanted.length && fits(wanted)

  function fits(tokens: readonly string[]): boolean {
    return tokens.every((token, index) => token === '*' || token === parts[index])
  }
}

/** Subjects of the exports of libs/contracts, by `<file> <name>`. */
function readContracts(files: readonly SourceFile[]): ReadonlyMap<string, string> {
  const contracts = new Map<string, string>()
  for (const { path, text } of files) {
    const [, file] = /^libs\/contracts\/src\/([^/]+\.ts)$/.exec(path) ?? []
    if (file === undefined || isTest(path)) continue
    for (const definition of text.replaceAll(COMMENTS, '').split(/^export /m)) {
      const [, name] = /^(?:const|function) (\w+)/.exec(definition) ?? []
      const [, subject] = /\bsubject: ['`]([^'`]+)['`]/.exec(definition) ?? []
      if (name !== undefined && subject !== undefined) {
        contracts.set(`${file} ${name}`, subject.replaceAll(/\$\{[^}]*\}/g, '*'))
      }
    }
  }
  return contracts
}

/** A file that passes a call to `handle` or `handleText` serves it. Any other call that it imports, it makes. */
function readFileUse({ path, text: source }: SourceFile, contracts: ReadonlyMap<string, string>): FileUse[] {
  const folder = packageOf(path)
  if (folder === undefined || folder === 'libs/contracts' || !path.endsWith('.ts') || isTest(path)) return []
  const text = source.replaceAll(COMMENTS, '')
  const asked: string[] = []
  const served: string[] = []
  for (const [, named, namespace, file = ''] of text.matchAll(IMPORTS)) {
    for (const [name, spelled] of namesOf(text, named, namespace)) {
      const subject = contracts.get(`${file} ${name}`)
      if (subject === undefined) continue
      const list = new RegExp(`\\bhandle(?:Text)?\\(\\s*${spelled}\\b`).test(text) ? served : asked
      list.push(subject)
    }
  }
  return [{ folder, asked, served }]
}

/** @returns pairs of an exported name and its local name in the file. */
function namesOf(text: string, named: string | undefined, namespace: string | undefined): [string, string][] {
  if (namespace !== undefined) {
    const names = [...text.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, 'g'))].map(([, name = '']) => name)
    return [...new Set(names)].map((name) => [name, `${namespace}\\.${name}`])
  }
  const parts = (named ?? '').split(',').map((part) => part.trim())
  return parts
    .filter((part) => part !== '' && !part.startsWith('type '))
    .map((part) => {
      const [name = '', , alias = name] = part.split(/ +/)
      return [name, alias]
    })
}

/** The folders of the code in a service: its own, and those of the libraries in its dependencies. */
function foldersOf(name: string, files: readonly SourceFile[]): ReadonlySet<string> {
  const manifests = new Map(files.filter(({ path }) => path.endsWith('/package.json')).map((file) => [file.path, file]))
  const folderOf = readPackageFolders(files)
  const folders = new Set([name === 'admin' ? 'clients/cli' : `services/${name}`])
  // This set grows during the loop: it also visits dependencies of dependencies.
  for (const folder of folders) {
    const { dependencies = {} } = JSON.parse(manifests.get(`${folder}/package.json`)?.text ?? '{}')
    for (const dependency of Object.keys(dependencies)) {
      const found = folderOf.get(dependency)
      if (found !== undefined) folders.add(found)
    }
  }
  return folders
}
