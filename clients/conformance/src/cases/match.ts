/**
 * Compares what came with what is expected. Objects are exact, because the specification closes them (spec 2.7). An object with one
 * member that begins with `$` is a looser expectation, as clients/conformance/cases/README.md lists.
 */
type Check = (came: unknown, expected: never, path: string) => string | undefined

const CHECKS: Readonly<Record<string, Check>> = {
  $any: (came, _, path) => (came === undefined ? `${path} is missing` : undefined),
  $type: (came, type: string, path) => (typeOf(came) === type ? undefined : differs(path, came, `of type ${type}`)),
  $match: (came, pattern: string, path) =>
    typeof came === 'string' && new RegExp(pattern, 'u').test(came)
      ? undefined
      : differs(path, came, `a text like /${pattern}/`),
  $contains: (came, part: string, path) =>
    typeof came === 'string' && came.includes(part) ? undefined : differs(path, came, `a text that contains ${part}`),
  $within: (came, [least, most]: [number, number], path) =>
    typeof came === 'number' && came >= least && came <= most
      ? undefined
      : differs(path, came, `from ${least} to ${most}`),
  $multiple_of: (came, factor: number, path) =>
    Number(came) % factor === 0 ? undefined : differs(path, came, `a multiple of ${factor}`),
  $length: (came, length: number, path) =>
    (came as unknown[] | undefined)?.length === length ? undefined : differs(path, came, `of length ${length}`),
  $not: (came, other: unknown, path) =>
    mismatch(came, other, path) === undefined ? differs(path, came, `not ${shown(other)}`) : undefined,
  $one_of: (came, others: unknown[], path) =>
    others.some((other) => mismatch(came, other, path) === undefined)
      ? undefined
      : differs(path, came, `one of ${shown(others)}`),
  $all: (came, patterns: unknown[], path) => firstOf(patterns, (pattern) => mismatch(came, pattern, path)),
  $has: (came, members: object, path) => {
    if (typeOf(came) !== 'object') return differs(path, came, 'an object')
    return firstOf(Object.entries(members), ([name, value]) =>
      mismatch((came as Record<string, unknown>)[name], value, `${path}.${name}`),
    )
  },
  $lacks: (came, names: string[], path) => {
    const there = names.find((name) => name in Object(came))
    return there === undefined ? undefined : `${path} has the member ${there}, which must be absent`
  },
  $each: (came, pattern: unknown, path) =>
    Array.isArray(came)
      ? firstOf([...came.entries()], ([at, one]) => mismatch(one, pattern, `${path}[${at}]`))
      : differs(path, came, 'a list'),
  $includes: (came, pattern: unknown, path) =>
    listOf(came).some((one) => mismatch(one, pattern, path) === undefined)
      ? undefined
      : differs(path, came, `a list that includes ${shown(pattern)}`),
  $excludes: (came, pattern: unknown, path) =>
    listOf(came).some((one) => mismatch(one, pattern, path) === undefined)
      ? differs(path, came, `a list without ${shown(pattern)}`)
      : undefined,
  $in_any_order: (came, patterns: unknown[], path) =>
    listOf(came).length === patterns.length
      ? firstOf(patterns, (pattern) => CHECKS.$includes?.(came, pattern as never, path))
      : differs(path, came, `${patterns.length} elements`),
}

/** @returns a sentence that says what differs and where; undefined if all is as expected. */
export function mismatch(came: unknown, expected: unknown, path: string): string | undefined {
  if (typeof expected !== 'object' || expected === null)
    return Object.is(came, expected) || (came === 0 && expected === 0)
      ? undefined
      : differs(path, came, shown(expected))
  if (Array.isArray(expected)) {
    if (!Array.isArray(came) || came.length !== expected.length) return differs(path, came, shown(expected))
    return firstOf([...expected.entries()], ([at, one]) => mismatch(came[at], one, `${path}[${at}]`))
  }
  const entries = Object.entries(expected)
  const [[name, argument] = ['', undefined]] = entries
  const check = entries.length === 1 && Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
  if (check !== undefined) return check(came, argument as never, path)
  if (typeOf(came) !== 'object') return differs(path, came, shown(expected))
  const extra = Object.keys(came as object).find((key) => !Object.hasOwn(expected, key))
  if (extra !== undefined) return `${path} has the member ${extra}, which is not expected`
  return firstOf(entries, ([key, value]) => {
    if (!Object.hasOwn(came as object, key)) return `${path}.${key} is missing: expected ${shown(value)}`
    return mismatch((came as Record<string, unknown>)[key], value, `${path}.${key}`)
  })
}

function firstOf<T>(all: readonly T[], check: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const problem = check(one)
    if (problem !== undefined) return problem
  }
  return undefined
}

function listOf(came: unknown): unknown[] {
  return Array.isArray(came) ? came : []
}

function typeOf(value: unknown): string {
  if (Number.isInteger(value)) return 'integer'
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

function differs(path: string, came: unknown, expected: string): string {
  return `${path} is ${shown(came)}: expected ${expected}`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent'
  return text.length > 300 ? `${text.slice(0, 299)}…` : text
}
