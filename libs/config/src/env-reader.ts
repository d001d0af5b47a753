/** Reads the environment once into typed values. Collects all mistakes and reports them together. */
import { readFileSync } from 'node:fs'

function readText(path: string): string {
  return readFileSync(path, 'utf8')
}

export interface EnvReader {
  /** @returns the text. A variable that is set but empty counts as not set. */
  string(name: string, options?: { default?: string; pattern?: RegExp; hint?: string }): string
  optional(name: string): string | undefined
  int(name: string, options: { default?: number; min: number; max: number }): number
  number(name: string, options: { default?: number; min: number; max: number }): number
  /** `on` or `off`. */
  flag(name: string, options: { default: boolean }): boolean
  /** Separated by commas, white space ignored; empty by default. */
  list(name: string): string[]
  /**
   * A secret of at least `minLength` characters, from the variable itself or from the file whose path is in
   * `<name>_FILE`.
   */
  secret(name: string, options?: { minLength?: number }): string
  /** Adds a mistake that only the caller can detect. */
  fail(name: string, problem: string): void
  /** @throws ConfigError that names every missing or invalid variable. */
  check(): void
}

export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** @param readFile replaces the file system in tests. */
export function envReader(env: NodeJS.ProcessEnv, readFile: (path: string) => string = readText): EnvReader {
  const problems: string[] = []
  const textOf = (name: string): string | undefined => (env[name] === '' ? undefined : env[name])
  const fail = (name: string, problem: string): void => {
    problems.push(`${name} ${problem}`)
  }

  function numeric(name: string, options: { default?: number; min: number; max: number }, whole: boolean): number {
    const text = textOf(name)
    if (text === undefined) {
      if (options.default === undefined) fail(name, 'is not set')
      return options.default ?? options.min
    }
    const value = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
    if (!Number.isFinite(value) || (whole && !Number.isInteger(value)) || value < options.min || value > options.max) {
      fail(name, `must be ${whole ? 'a whole number' : 'a number'} from ${options.min} to ${options.max}`)
      return options.min
    }
    return value
  }

  return {
    string(name, options = {}) {
      const text = textOf(name) ?? options.default
      if (text === undefined) {
        fail(name, 'is not set')
        return ''
      }
      if (options.pattern !== undefined && !options.pattern.test(text)) {
        fail(name, options.hint ?? `must match ${options.pattern.source}`)
      }
      return text
    },
    optional: textOf,
    int: (name, options) => numeric(name, options, true),
    number: (name, options) => numeric(name, options, false),
    flag(name, options) {
      const text = textOf(name)
      if (text === undefined) return options.default
      if (text !== 'on' && text !== 'off') fail(name, 'must be on or off')
      return text === 'on'
    },
    list(name) {
      return (textOf(name) ?? '')
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    },
    secret(name, { minLength = 1 } = {}) {
      const text = textOf(name) ?? secretFromFile(name)
      if (text === undefined) {
        fail(name, `is not set (nor ${name}_FILE)`)
        return ''
      }
      if (text.length < minLength) fail(name, `must have at least ${minLength} characters`)
      return text
    },
    fail,
    check() {
      if (problems.length > 0) throw new ConfigError(`configuration: ${problems.join('; ')}`)
    },
  }

  function secretFromFile(name: string): string | undefined {
    const path = textOf(`${name}_FILE`)
    if (path === undefined) return undefined
    try {
      return readFile(path).trimEnd()
    } catch (error) {
      fail(`${name}_FILE`, `cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      return 'unreadable'.padEnd(64)
    }
  }
}
