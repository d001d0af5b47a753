/** The command lines of the programs under `test/`: `--help` tells what there is, and a wrong one is a sentence and no stack trace. */
import { parseArgs } from 'node:util'

interface Described {
  readonly what: string
}

export type Option =
  | (Described & {
      readonly kind: 'number'
      readonly default?: number
      readonly min?: number
      readonly whole?: boolean
    })
  /** Separated by commas. */
  | (Described & { readonly kind: 'list'; readonly of?: readonly string[] })
  | (Described & { readonly kind: 'text'; readonly placeholder: string })
  | (Described & { readonly kind: 'flag' })

export type Options = Readonly<Record<string, Option>>

type ValueOf<O extends Option> = O extends { kind: 'number'; default: number }
  ? number
  : O extends { kind: 'number' }
    ? number | undefined
    : O extends { kind: 'list' }
      ? readonly string[] | undefined
      : O extends { kind: 'text' }
        ? string | undefined
        : boolean

export interface CommandLine<O extends Options> {
  /** As it is called: `npx pnpm faults`. */
  readonly command: string
  readonly does: string
  readonly options: O
  /** What may stand without an option's name. */
  readonly names?: Described & { readonly of: readonly string[]; readonly max: number }
}

export interface Parsed<O extends Options> {
  readonly values: { readonly [Name in keyof O]: ValueOf<O[Name]> }
  readonly names: readonly string[]
}

/** Its message is one line, and says what is allowed. */
export class UsageError extends Error {}

const HELP = { type: 'boolean', short: 'h' } as const
/** As of the programs of BSD and GNU: not a result, but a wrong call. */
const EX_USAGE = 2

/** Reads this process's command line. Ends the process after `--help`, with 0, and where the line is wrong, with 2. */
export function readCommandLine<const O extends Options>(line: CommandLine<O>): Parsed<O> {
  try {
    const parsed = parseCommandLine(line, process.argv.slice(2))
    if (parsed !== 'help') return parsed
    console.log(helpOf(line))
    process.exit(0)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    process.exit(EX_USAGE)
  }
}

/** @throws UsageError where the line is not of this form. */
export function parseCommandLine<const O extends Options>(
  line: CommandLine<O>,
  args: readonly string[],
): Parsed<O> | 'help' {
  const options = Object.fromEntries(
    Object.entries(line.options).map(([name, { kind }]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  let given: ReturnType<typeof parseArgs>
  try {
    given = parseArgs({ args: [...args], allowPositionals: true, options: { ...options, help: HELP } })
  } catch (error) {
    // The first sentence says what is wrong; the rest is for somebody who writes a program.
    throw wrong(line, (error instanceof Error ? error.message : String(error)).split('. ')[0]?.replace(/\.$/, '') ?? '')
  }
  if (given.values.help === true) return 'help'
  const values = Object.fromEntries(
    Object.entries(line.options).map(([name, option]) => [name, readValue(line, name, option, given.values[name])]),
  )
  return { values: values as Parsed<O>['values'], names: namesOf(line, given.positionals) }
}

function readValue<O extends Options>(line: CommandLine<O>, name: string, option: Option, given: unknown): unknown {
  if (option.kind === 'flag') return given === true
  if (typeof given !== 'string') return option.kind === 'number' ? option.default : undefined
  if (option.kind === 'text') return given
  if (option.kind === 'list') {
    const all = given.split(',')
    for (const one of all) checkAmong(line, one, option.of, `--${name}`)
    return all
  }
  const { min = 0, whole = false } = option
  const value = Number(given)
  if (given.trim() === '' || !Number.isFinite(value) || value < min || (whole && !Number.isInteger(value))) {
    throw wrong(line, `--${name} is ${whole ? 'a whole number' : 'a number'} from ${min}, not '${given}'`)
  }
  return value
}

function namesOf<O extends Options>(line: CommandLine<O>, given: readonly string[]): readonly string[] {
  const { of = [], max = 0 } = line.names ?? {}
  if (given.length > max) throw wrong(line, `'${given[max]}' is one argument too many`)
  for (const one of given) checkAmong(line, one, of, 'the argument')
  return given
}

function checkAmong<O extends Options>(
  line: CommandLine<O>,
  value: string,
  of: readonly string[] | undefined,
  what: string,
): void {
  if (of !== undefined && !of.includes(value)) throw wrong(line, `${what} '${value}' is none of ${of.join(', ')}`)
}

function wrong<O extends Options>(line: CommandLine<O>, problem: string): UsageError {
  return new UsageError(`${line.command}: ${problem} (usage: ${usageOf(line)})`)
}

function usageOf<O extends Options>({ command, options, names }: CommandLine<O>): string {
  const all = Object.entries(options).map(([name, option]) => `[${formOf(name, option)}]`)
  return [command, ...(names === undefined ? [] : [names.max === 1 ? '[<name>]' : '[<name> ...]']), ...all].join(' ')
}

function formOf(name: string, option: Option): string {
  if (option.kind === 'flag') return `--${name}`
  if (option.kind === 'number') return `--${name} <n>`
  return option.kind === 'list' ? `--${name} <a,b,...>` : `--${name} <${option.placeholder}>`
}

function helpOf<O extends Options>(line: CommandLine<O>): string {
  const rows = Object.entries(line.options).map(([name, option]): [string, string] => {
    const isNumber = option.kind === 'number' && option.default !== undefined
    const among = option.kind === 'list' && option.of !== undefined ? `; of ${option.of.join(', ')}` : ''
    return [formOf(name, option), `${option.what}${isNumber ? ` (${option.default})` : ''}${among}`]
  })
  if (line.names !== undefined) rows.unshift(['<name>', `${line.names.what}; of ${line.names.of.join(', ')}`])
  const width = Math.max(0, ...rows.map(([form]) => form.length))
  const table = rows.map(([form, what]) => `  ${form.padEnd(width)}  ${what}`)
  return [`usage: ${usageOf(line)}`, line.does, ...table].join('\n')
}
