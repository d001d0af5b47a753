/**
 * The values of a case file. `${alice.id}` stands for a value that is known when the step runs; a text that is nothing else keeps the
 * value's type. An object with one member that begins with `$` makes a value, as clients/conformance/cases/README.md lists.
 */
import { createHash, randomBytes } from 'node:crypto'

export type Scope = Readonly<Record<string, unknown>>

const MAKERS: Readonly<Record<string, (given: never) => unknown>> = {
  $repeat: ([text, times]: [string, number]) => text.repeat(times),
  $list: ([value, times]: [unknown, number]) => Array.from({ length: times }, () => value),
  $join: (parts: unknown[]) => parts.join(''),
  $sum: (numbers: unknown[]) => numbers.reduce((sum: number, one) => sum + Number(one), 0),
  $hex: (bytes: number) => randomBytes(bytes).toString('hex'),
  $base64: (bytes: number) => randomBytes(bytes).toString('base64'),
  $parse: (text: string) => JSON.parse(text),
  $sha256: (text: string) => createHash('sha256').update(text).digest('hex'),
  $now: (given: number | [number, number]) => {
    const [seconds = 0, digits = 3] = [given].flat()
    const [second = '', fraction = ''] = new Date(Date.now() + seconds * 1_000).toISOString().split(/[.Z]/)
    return `${second}${digits === 0 ? '' : `.${fraction.padEnd(digits, '0').slice(0, digits)}`}Z`
  },
  $unix: (seconds: number) => Math.floor(Date.now() / 1_000) + seconds,
  $seconds: (date: string) => Math.floor(Date.parse(date) / 1_000),
  $json: (value: unknown) => JSON.stringify(value),
  $upper: (text: string) => text.toUpperCase(),
  $lower: (text: string) => text.toLowerCase(),
  $uri: (text: string) => encodeURIComponent(text),
  $replace: ([text, from, to]: [string, string, string]) => text.replaceAll(from, to),
  $pad: ([text, bytes]: [string, number]) => text + ' '.repeat(bytes - Buffer.byteLength(text)),
  $sorted: (values: unknown[]) =>
    values.toSorted((a, b) => Buffer.compare(Buffer.from(JSON.stringify(a)), Buffer.from(JSON.stringify(b)))),
  $merge: (objects: object[]) => Object.assign({}, ...objects),
  $without: ([object, ...names]: [object, ...string[]]) =>
    Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name))),
  $reverse: (object: object) => Object.fromEntries(Object.entries(object).toReversed()),
}

/** @throws Error for a name that is not known. */
export function evaluate(given: unknown, scope: Scope): unknown {
  if (typeof given === 'string') return fill(given, scope)
  if (Array.isArray(given)) return given.map((one) => evaluate(one, scope))
  if (typeof given !== 'object' || given === null) return given
  const entries = Object.entries(given)
  const [[name, argument] = ['', undefined]] = entries
  const maker = entries.length === 1 && Object.hasOwn(MAKERS, name) ? MAKERS[name] : undefined
  if (maker !== undefined) return maker(evaluate(argument, scope) as never)
  return Object.fromEntries(entries.map(([key, value]) => [fill(key, scope), evaluate(value, scope)]))
}

function fill(text: string, scope: Scope): unknown {
  const whole = /^\$\{([^}]+)\}$/.exec(text)?.[1]
  if (whole !== undefined) return lookUp(whole, scope)
  return text.replaceAll(/\$\{([^}]+)\}/g, (_, path: string) => String(lookUp(path, scope)))
}

/** @param path `first.body.messages.0.envelope.id`; `-1` is the last of a list, and `*` each element of it. */
export function lookUp(path: string, scope: Scope): unknown {
  const [own, ...each] = path.split('.*.')
  const found = (own ?? '').split('.').reduce((value: unknown, name, at) => {
    const member = at === 0 ? scope[name] : memberOf(value, name)
    if (member === undefined) throw new Error(`nothing is known as ${path}`)
    return member
  }, undefined)
  return each.length === 0 ? found : (found as unknown[]).map((one) => lookUp(`one.${each.join('.*.')}`, { one }))
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value) && /^-?\d+$/.test(name)) return value.at(Number(name))
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
