import type { Command } from 'commander'
import { outputOf } from '../../context.ts'
import { configFolder } from '../../files/places.ts'
import { defaultProfile, findProfile, listProfiles, removeProfile, setDefaultProfile } from '../../files/profiles.ts'
import { type Io, UsageError } from '../../io.ts'
import { table } from '../../output/output.ts'

export function addProfiles(program: Command, io: Io): void {
  const group = program
    .command('profiles')
    .description('list, choose and remove profiles; svc init creates them')
    .addHelpText(
      'after',
      `
Examples:
  svc profiles
  svc profiles use bob
  svc inbox --profile bob
  SVC_PROFILE=bob svc inbox`,
    )

  group
    .command('list', { isDefault: true })
    .description('profiles with their services and keys; * marks the default profile')
    .addHelpText('after', '\nExample:\n  svc profiles list')
    .action(async (_options: object, command: Command) => {
      const out = outputOf(io, command)
      const folder = configFolder(io.env)
      const names = listProfiles(folder)
      const chosen = defaultProfile(folder)
      const rows = names.map((name) => [name === chosen ? '*' : ' ', name, ...describe(folder, name)])
      const lines = table(rows)
      await out.list(async () => {
        for (const [at, name] of names.entries()) {
          const profile = findProfile(folder, name)
          out.print({ name, ...profile, default: name === chosen }, lines.slice(at, at + 1), name)
        }
      })
      if (names.length === 0) out.note('no profiles: run svc init')
    })

  group
    .command('use')
    .argument('<name>', 'name of a profile')
    .description('make this the default profile')
    .addHelpText('after', '\nExample:\n  svc profiles use bob')
    .action((name: string, _options: object, command: Command) => {
      const out = outputOf(io, command)
      setDefaultProfile(configFolder(io.env), existing(io, name))
      out.print({ name, default: true }, [`${name} is now the default profile`], name)
    })

  group
    .command('remove')
    .argument('<name>', 'name of a profile')
    .description('remove a profile; its key file and its agent stay')
    .addHelpText('after', '\nExample:\n  svc profiles remove bob')
    .action((name: string, _options: object, command: Command) => {
      const out = outputOf(io, command)
      const folder = configFolder(io.env)
      const key = findProfile(folder, existing(io, name))?.key
      removeProfile(folder, name)
      out.print({ name, key }, [`removed ${name}; its key is still in ${key}`], name)
    })
}

function describe(folder: string, name: string): string[] {
  const profile = findProfile(folder, name)
  return profile === undefined ? [] : [profile.url, profile.key]
}

function existing({ env }: Io, name: string): string {
  if (findProfile(configFolder(env), name) !== undefined) return name
  throw new UsageError(`there is no profile ${name}: svc profiles lists all`)
}
