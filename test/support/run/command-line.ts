/** Command lines of the programs under `test/`. `--help` lists the options. A mistake prints one sentence, not a stack trace. */
import { Argument, Command, Option as CommanderOption, InvalidArgumentError } from 'commander'

interface Described {
  readonly what: string
}

type Option =
  | (Described & {
      readonly kind: 'number'
      readonly default?: number
      readonly min?: number
      readonly whole?: boolean
    })
  /** A list, separated by commas. */
  | (Described & { readonly kind: 'list'; readonly of: readonly string[] })
  | (Described & { readonly kind: 'text'; readonly placeholder: string })
  | (Described & { readonly kind: 'flag' })

type Options = Readonly<Record<string, Option>>

type ValueOf<O extends Option> = O extends { kind: 'number'; default: number }
  ? number
  : O extends { kind: 'number' }
    ? number | undefined
    : O extends { kind: 'list' }
      ? readonly string[] | undefined
      : O extends { kind: 'text' }
        ? string | undefined
        : boolean

interface CommandLine<O extends Options> {
  /** How to call the program: `npx pnpm faults`. */
  readonly command: string
  readonly does: string
  readonly options: O
  /** Positional arguments. */
  readonly names?: Described & { readonly of: readonly string[]; readonly several?: boolean }
}

interface Parsed<O extends Options> {
  readonly values: { readonly [Name in keyof O]: ValueOf<O[Name]> }
  readonly names: readonly string[]
}

/** Exit code for an invalid command line, as in BSD. */
const EX_USAGE = 2

/** Reads this process's command line. Exits with 0 after `--help`, and with 2 if the command line is invalid. */
export function readCommandLine<const O extends Options>(line: CommandLine<O>): Parsed<O> {
  const command = commandOf(line).exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EX_USAGE))
  return parseWith(command, line, process.argv.slice(2))
}

/** @throws CommanderError after `--help`, with exit code 0, and for an invalid command line. */
function parseWith<O extends Options>(
  command: Command,
  { options }: CommandLine<O>,
  args: readonly string[],
): Parsed<O> {
  command.parse(args, { from: 'user' })
  const given = command.opts<Record<string, unknown>>()
  const values = command.options.map((option): [string, unknown] => [option.name(), given[option.attributeName()]])
  const kept = values.filter(([name]) => name in options)
  return { values: Object.fromEntries(kept) as Parsed<O>['values'], names: command.args }
}

function commandOf<O extends Options>({ command: name, does, options, names }: CommandLine<O>): Command {
  const command = new Command(name).description(does).showHelpAfterError(`(${name} --help lists the options)`)
  for (const [option, described] of Object.entries(options)) command.addOption(optionOf(option, described))
  if (names === undefined) return command.allowExcessArguments(false)
  const { what, of, several = false } = names
  return command.addArgument(new Argument(several ? '[names...]' : '[name]', what).choices(of))
}

function optionOf(name: string, option: Option): CommanderOption {
  switch (option.kind) {
    case 'flag':
      return new CommanderOption(`--${name}`, option.what).default(false)
    case 'text':
      return new CommanderOption(`--${name} <${option.placeholder}>`, option.what)
    case 'list':
      return new CommanderOption(`--${name} <a,b,...>`, `${option.what}; of ${option.of.join(', ')}`).argParser(
        (text) => listOf(text, option.of),
      )
    case 'number':
      return new CommanderOption(`--${name} <n>`, option.what)
        .argParser((text) => numberOf(text, option))
        .default(option.default)
  }
}

function numberOf(text: string, { min = 0, whole = false }: Extract<Option, { kind: 'number' }>): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= min && (!whole || Number.isInteger(value))) return value
  throw new InvalidArgumentError(`It is ${whole ? 'a whole number' : 'a number'} from ${min}.`)
}

function listOf(text: string, of: readonly string[]): readonly string[] {
  const all = text.split(',')
  for (const one of all)
    if (!of.includes(one)) throw new InvalidArgumentError(`'${one}' is not one of ${of.join(', ')}.`)
  return all
}
