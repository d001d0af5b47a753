import { Argument, type Command } from 'commander'
import { findCandidates } from '../completion/candidates.ts'
import { INTEGRATIONS, SHELLS, type Shell } from '../completion/shells.ts'
import { configFolder } from '../files/places.ts'
import { listProfiles } from '../files/profiles.ts'
import type { Io } from '../io.ts'

export function addCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .description('print a script that makes a shell complete commands, options and profiles of svc')
    .addHelpText(
      'after',
      `
Examples:
  source <(svc completion bash)                              (in ~/.bashrc)
  source <(svc completion zsh)                               (in ~/.zshrc, after compinit)
  svc completion fish > ~/.config/fish/completions/svc.fish`,
    )
    .action((shell: Shell) => {
      io.stdout.write(INTEGRATIONS[shell].script)
    })
  program
    .command('complete', { hidden: true })
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .argument('[words...]')
    .description('for the scripts of svc completion')
    .action((shell: Shell, words: string[]) => {
      const found = findCandidates(program, words, listProfiles(configFolder(io.env)))
      for (const candidate of found) io.stdout.write(`${INTEGRATIONS[shell].line(candidate)}\n`)
    })
}
