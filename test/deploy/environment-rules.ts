/** Rules for the environment of every process in every deployment. */
import type { Facts } from './facts.ts'

/** Variables that services read, but no deployment may set. */
const NEVER_SET = ['SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS', 'SVC_STREAM_SECONDS', 'SVC_FAILPOINTS']
/** Variables that Node or OpenTelemetry's SDK reads, or that only an external NATS needs. */
const OPTIONAL = /^(NODE_[A-Z_]+|OTEL_[A-Z_]+|SVC_NATS_(USER|(CA|CERT|KEY|CREDS|NKEY|PASSWORD)_FILE))$/
/** Variables with a different value in each process. */
const OWN = /^SVC_(DATABASE_POOL|DATABASE_URL_FILE|NATS_URL_FILE|NATS_USER|NATS_(CERT|KEY|CREDS|NKEY|PASSWORD)_FILE)$/

/** A valid value for a variable that a deployment reads from a secret file. */
export function placeholderFor(variable: string): string {
  if (variable === 'SVC_NATS_URL') return 'nats://nats'
  return variable === 'SVC_DATABASE_URL' ? 'postgres://svc@postgres' : `x:${'x'.repeat(64)}`
}

/** @param env the environment of one process of the service. */
export function findVariableProblems(service: string, env: Readonly<Record<string, string>>, facts: Facts): string[] {
  const read = facts.variables.get(service)
  if (read === undefined) return [`there is no service ${service}`]
  const wanted = read.names.filter((name) => !NEVER_SET.includes(name) && !OPTIONAL.test(name))
  const missing = wanted.filter((name) => env[name] === undefined && env[`${name}_FILE`] === undefined)
  const known = new Set([...wanted, ...read.secrets.map((name) => `${name}_FILE`)])
  const foreign = Object.keys(env).filter((name) => !known.has(name) && !OPTIONAL.test(name))
  const exposed = read.secrets.filter((name) => env[name] !== undefined)
  return [
    ...missing.map((name) => `${service} lacks the variable ${name}`),
    ...foreign.map(
      (name) =>
        `${service} has the variable ${name}, ${NEVER_SET.includes(name) ? 'which is only for tests' : 'which it does not read'}`,
    ),
    ...exposed.map((name) => `${service} has the secret ${name} in its environment, instead of in a file`),
  ]
}

/** @param environments by service. */
export function findDisagreements(environments: ReadonlyMap<string, Readonly<Record<string, string>>>): string[] {
  const seen = new Map<string, string>()
  return [...environments].flatMap(([service, env]) =>
    Object.entries(env).flatMap(([name, value]) => {
      const first = seen.get(name) ?? value
      seen.set(name, first)
      return first === value || OWN.test(name)
        ? []
        : [`${service} has ${name}=${value}, but another service has ${first}`]
    }),
  )
}
