import type { Command, Option } from 'commander'

export interface Candidate {
  readonly value: string
  readonly description: string
}

/**
 * The possible values of the last word.
 * @param words the words after `svc`. The last one is being typed and may be empty.
 * @param profiles names of the profiles.
 * @returns an empty list if the word is a file name or free text.
 */
export function findCandidates(program: Command, words: readonly string[], profiles: readonly string[]): Candidate[] {
  const current = words.at(-1) ?? ''
  const place = walk(program, words.slice(0, -1))
  const found = place.awaiting === undefined ? atOperand(place, current, profiles) : valuesOf(place.awaiting, profiles)
  return found.filter(({ value }) => value.startsWith(current))
}

interface Place {
  readonly command: Command
  /** Operands of the command before this word. */
  readonly operands: number
  /** The option whose value this word is. */
  readonly awaiting: Option | undefined
  /** True after `--`. */
  readonly onlyOperands: boolean
}

function walk(program: Command, words: readonly string[]): Place {
  let place: Place = { command: program, operands: 0, awaiting: undefined, onlyOperands: false }
  for (const word of words) {
    const { command } = place
    if (place.awaiting !== undefined) place = { ...place, awaiting: undefined }
    else if (word === '--') place = { ...place, onlyOperands: true }
    else if (!place.onlyOperands && word.startsWith('-')) {
      const option = optionsOf(command).find(({ long, short }) => word === long || word === short)
      place = { ...place, awaiting: option?.required === true ? option : undefined }
    } else {
      const next = place.operands === 0 ? command.commands.find((one) => one.name() === word) : undefined
      place = next === undefined ? { ...place, operands: place.operands + 1 } : { ...place, command: next }
    }
  }
  return place
}

function atOperand(
  { command, operands, onlyOperands }: Place,
  current: string,
  profiles: readonly string[],
): Candidate[] {
  if (current.startsWith('-') && !onlyOperands) {
    return optionsOf(command).flatMap(({ long, description }) =>
      long === undefined ? [] : [{ value: long, description }],
    )
  }
  const argument = command.registeredArguments[operands]
  const chosen = argument?.argChoices?.map((value) => ({ value, description: argument.description })) ?? []
  const named = argument?.description === 'name of a profile' ? profiles.map(profile) : []
  const commands = operands > 0 ? [] : command.createHelp().visibleCommands(command)
  return [...commands.map((one) => ({ value: one.name(), description: one.description() })), ...chosen, ...named]
}

function valuesOf(option: Option, profiles: readonly string[]): Candidate[] {
  if (option.long === '--profile') return profiles.map(profile)
  return option.argChoices?.map((value) => ({ value, description: '' })) ?? []
}

function profile(value: string): Candidate {
  return { value, description: 'profile' }
}

/** Options of the command and of its parents, which may be given anywhere. */
function optionsOf(command: Command): Option[] {
  const options: Option[] = []
  for (let at: Command | null = command; at !== null; at = at.parent) options.push(...at.options)
  return options.filter(({ hidden }) => !hidden)
}
