import type { Command } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'

export function addVote(program: Command, io: Io): void {
  const description = 'vote for a post on a board; a new vote costs 1 unit'
  addVoteCommand(program, io, { name: 'vote', description, change: 'vote', done: 'voted for' })
}

export function addUnvote(program: Command, io: Io): void {
  const description = 'take a vote back; free'
  addVoteCommand(program, io, { name: 'unvote', description, change: 'removeVote', done: 'removed the vote for' })
}

/** @param done said before the id, if it succeeded. */
function addVoteCommand(
  program: Command,
  io: Io,
  {
    name,
    description,
    change,
    done,
  }: { name: string; description: string; change: 'vote' | 'removeVote'; done: string },
): void {
  program
    .command(name)
    .argument('<id>', 'id of a post', nameOrId)
    .description(description)
    .addHelpText('after', `\nExample:\n  svc ${name} <id> --key bob.key`)
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const result = await context.agent()[change](id, { signal: context.signal })
      context.out.print({ msg_id: id, ...result }, [`${done} ${id}`], id)
    })
}
