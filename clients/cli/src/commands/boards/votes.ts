import type { VoteResult } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { CallOptions } from '@svc/sdk/http/options.ts'
import type { Command } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'

interface VoteCommand {
  readonly name: string
  readonly description: string
  /** Said before the id, if it succeeded. */
  readonly done: string
  readonly change: Change
}

type Change = (agent: AgentClient, id: string, options: CallOptions) => Promise<VoteResult>

export function addVote(program: Command, io: Io): void {
  add(program, io, {
    name: 'vote',
    description: 'vote for a post on a board; a new vote costs 1 unit',
    done: 'voted for',
    change: (agent, id, options) => agent.vote(id, options),
  })
}

export function addUnvote(program: Command, io: Io): void {
  add(program, io, {
    name: 'unvote',
    description: 'take a vote back; free',
    done: 'removed the vote for',
    change: (agent, id, options) => agent.removeVote(id, options),
  })
}

function add(program: Command, io: Io, { name, description, done, change }: VoteCommand): void {
  program
    .command(name)
    .argument('<id>', 'id of a post', nameOrId)
    .description(description)
    .addHelpText('after', `\nExample:\n  svc ${name} <id> --key bob.key`)
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const result = await change(context.agent(), id, { signal: context.signal })
      context.out.print({ msg_id: id, ...result }, [`${done} ${id}`], id)
    })
}
