import { defineCount, defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'
import { activeTrace, isTracing, type Span, startSpan } from '@svc/telemetry/tracing.ts'
import { sqlStateOf } from '../errors.ts'

const statements = defineCount({
  name: 'agentmsg_sql_total',
  help: "Ended SQL statements, by outcome: ok, SQLSTATE, or the driver's code",
  labels: ['statement', 'outcome'],
})
const statementSeconds = defineDistribution({
  name: 'agentmsg_sql_seconds',
  help: 'From sending a statement to its answer',
  labels: ['statement'],
})
const poolSize = defineLevel({
  name: 'agentmsg_sql_connections',
  help: 'Maximum of connections in the pool',
  labels: [],
})
const underWay = defineLevel({
  name: 'agentmsg_sql_under_way',
  help: 'Statements without an answer yet: those that have a connection, and those that wait behind another',
  labels: ['state'],
})

/** The part of a query that matters here. The driver sends a query when it is first awaited. */
interface Query {
  then(
    fulfilled?: ((rows: unknown) => unknown) | null,
    rejected?: ((error: unknown) => unknown) | null,
  ): Promise<unknown>
}

/** Counts and times the statements of one pool. */
interface StatementWatch extends Disposable {
  /** @returns the same connection, with its statements watched. */
  watch<S extends object>(sql: S): S
}

export function watchStatements(connections: number): StatementWatch {
  let running = 0
  const levels = [
    poolSize.read(() => [[{}, connections]]),
    underWay.read(() => [
      [{ state: 'running' }, Math.min(running, connections)],
      [{ state: 'waiting' }, Math.max(running - connections, 0)],
    ]),
  ]
  return {
    watch: (sql) =>
      new Proxy(sql, {
        apply(target, self, args) {
          const made: unknown = Reflect.apply(target as unknown as (...args: unknown[]) => unknown, self, args)
          if (isTemplate(args[0])) watchQuery(made as Query, statementName(args[0]))
          return made
        },
      }),
    [Symbol.dispose]() {
      for (const level of levels) level[Symbol.dispose]()
    },
  }

  /** Measures a query once it is sent. A fragment looks like a query, but becomes a part of one and is never sent itself. */
  function watchQuery(query: Query, statement: string): void {
    const { then } = query
    let isSent = false
    // biome-ignore lint/suspicious/noThenProperty: it is a promise, and its own method is what the driver sends it by.
    query.then = (fulfilled, rejected) => {
      if (isSent) return then.call(query, fulfilled, rejected)
      isSent = true
      const end = begin(statement)
      return then.call(
        query,
        (rows) => {
          end('ok')
          return fulfilled ? fulfilled(rows) : rows
        },
        (error: unknown) => {
          end(sqlStateOf(error) || 'other', error)
          if (rejected) return rejected(error)
          throw error
        },
      )
    }
  }

  function begin(statement: string): (outcome: string, error?: unknown) => void {
    running += 1
    const beganMs = performance.now()
    const span = isTracing() ? beginSpan(statement) : undefined
    return (outcome, error) => {
      running -= 1
      statements.add({ statement, outcome })
      statementSeconds.observe({ statement }, (performance.now() - beganMs) / 1_000)
      span?.end(error)
    }
  }
}

function beginSpan(statement: string): Span | undefined {
  const parent = activeTrace()
  if (parent === undefined) return undefined
  return startSpan(`sql ${statement}`, { kind: 'client', parent, attributes: { 'db.system.name': 'postgresql' } })
}

const names = new WeakMap<TemplateStringsArray, string>()

function statementName(strings: TemplateStringsArray): string {
  let name = names.get(strings)
  if (name === undefined) {
    name = nameStatement(strings.join(' ? '))
    names.set(strings, name)
  }
  return name
}

const CHANGE = /\b(insert into|update|delete from)\s+([a-z_]+\.[a-z_]+)/
const CALL = /(?<![.\w])(?!pg_catalog\.)([a-z_]+\.[a-z_]+)\(/
const READ = /\b(?:from|join)\s+([a-z_]+\.[a-z_]+)/
const NAMED = /^\s*\/\* ([\w.-]+) \*\//

/**
 * The name of a statement in metrics and traces: its first action and the object, such as `call messaging.append` or
 * `update messaging.logs`. If the text does not show them, e.g. because the schema is a value, a comment at the beginning of
 * the statement names it.
 */
export function nameStatement(text: string): string {
  const named = NAMED.exec(text)
  if (named !== null) return String(named[1])
  const change = CHANGE.exec(text)
  if (change !== null) return `${String(change[1]).split(' ')[0]} ${change[2]}`
  const call = CALL.exec(text)
  if (call !== null) return `call ${call[1]}`
  const read = READ.exec(text)
  return read === null ? 'other' : `select ${read[1]}`
}

function isTemplate(value: unknown): value is TemplateStringsArray {
  return Array.isArray(value) && 'raw' in value
}
