/** The section of each service's README about its callers and callees. */
import type { SourceFile } from '../check/source-file.ts'
import { covers, type Rights, readRights, readUses, SERVICES, type Use } from './read-calls.ts'

const USERS_CONF = 'deploy/nats/users.conf'
const BEGIN = '<!-- calls: written by `npx pnpm calls` -->'
const END = '<!-- end of calls -->'
/** Subjects of calls, of their answers, and of the operator's discovery of services. A section lists only other subjects by name. */
const ORDINARY = /^(?:svc|admin|_INBOX_\w+|\$SRV)\./

/**
 * @returns the READMEs with current sections.
 * @throws if one of them has no place for its section.
 */
export function fillReadmes(files: readonly SourceFile[]): SourceFile[] {
  const uses = readUses(files)
  const rights = readRights(textOf(files, USERS_CONF))
  return SERVICES.map((service) => {
    const path = `services/${service}/README.md`
    const text = textOf(files, path)
    const [before, rest, ...more] = text.split(BEGIN)
    const after = rest?.split(END)[1]
    if (before === undefined || after === undefined || more.length > 0) {
      throw new Error(`${path} needs one line "${BEGIN}" and one "${END}" after it`)
    }
    return { path, text: `${before}${BEGIN}\n\n${sectionOf(service, uses, rights.get(service))}\n\n${END}${after}` }
  })
}

/** @returns one sentence for each stale section, each call that its caller has no permission for, and each wrong inbox. */
export function findStaleSections(files: readonly SourceFile[]): string[] {
  const rights = readRights(textOf(files, USERS_CONF))
  const uses = readUses(files)
  const forbidden = uses
    .filter(({ caller, subject }) => !rights.get(caller)?.publish.some((pattern) => covers(pattern, spelled(subject))))
    .map(({ caller, subject }) => `${USERS_CONF}: ${caller} calls ${subject} but may not publish it`)
  const stale = fillReadmes(files)
    .filter(({ path, text }) => textOf(files, path) !== text)
    .map(({ path }) => `${path}: its section of calls is stale; run \`npx pnpm calls\``)
  return [...forbidden, ...findWrongInboxes(uses, rights), ...stale]
}

/**
 * A service may publish answers to the services that call it, to its own processes and to the operator's tool, and to nobody
 * else. Answers to a caller have their callee in the subject (libs/nats/src/wire/inbox.ts).
 */
function findWrongInboxes(uses: readonly Use[], rights: ReadonlyMap<string, Rights>): string[] {
  return SERVICES.flatMap((service) => {
    const isChannel = rights.get(service)?.publish.some((pattern) => pattern.startsWith(`svc.${service}.`))
    const callers = uses.filter(({ subject }) => serviceOf(subject) === service).map(({ caller }) => caller)
    const wanted = new Set(
      ['admin', ...callers, ...(isChannel ? [service] : [])].map((one) => `_INBOX_${one}.${service}.>`),
    )
    const present = rights.get(service)?.publish.filter((pattern) => pattern.startsWith('_INBOX')) ?? []
    return [
      ...[...wanted].filter((inbox) => !present.includes(inbox)).map((inbox) => `${service} must answer on ${inbox}`),
      ...present.filter((inbox) => !wanted.has(inbox)).map((inbox) => `${service} must not publish to ${inbox}`),
    ].map((fault) => `${USERS_CONF}: ${fault}`)
  })
}

function sectionOf(service: string, uses: readonly Use[], rights: Rights | undefined): string {
  const callers = groupBy(
    uses.filter(({ subject }) => serviceOf(subject) === service),
    ({ caller }) => (caller === service ? 'its own processes' : caller === 'admin' ? '`svc admin`' : caller),
  )
  const callees = groupBy(
    uses.filter(({ caller, subject }) => caller === service && serviceOf(subject) !== service),
    ({ subject }) => serviceOf(subject),
  )
  const others = [
    ...otherSubjects('Other subjects that it publishes', rights?.publish),
    ...otherSubjects('Other subjects that it hears', rights?.subscribe),
  ]
  return [
    ...(callers.length === 0 ? ['No service calls it.'] : ['Called by:', '', ...callers]),
    '',
    ...(callees.length === 0 ? ['It calls no other service.'] : ['Calls:', '', ...callees]),
    ...(others.length === 0 ? [] : ['', ...others]),
  ].join('\n')
}

function groupBy(uses: readonly Use[], nameOf: (use: Use) => string): string[] {
  const groups = Map.groupBy(uses, nameOf)
  return [...groups].map(([name, group]) => `- ${name}: ${quoted(group.map(({ subject }) => callOf(subject)))}`)
}

function otherSubjects(what: string, subjects: readonly string[] = []): string[] {
  const others = subjects.filter((subject) => !ORDINARY.test(subject))
  return others.length === 0 ? [] : [`${what}: ${quoted(others)}.`]
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function serviceOf(subject: string): string {
  return subject.split('.')[1] ?? ''
}

function callOf(subject: string): string {
  return subject.split('.').slice(2).join('.')
}

function textOf(files: readonly SourceFile[], path: string): string {
  return files.find((file) => file.path === path)?.text ?? ''
}

/** Calls of operators end with the operator's name (libs/contracts/src/admin.ts, askedBy). */
function spelled(subject: string): string {
  return subject.startsWith('admin.') ? `${subject}.admin` : subject
}
