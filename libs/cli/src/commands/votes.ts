import type { VoteResult } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { CallOptions } from '@svc/sdk/http/options.ts'
import type { Command } from 'commander'
import { nameOrId } from '../arguments.ts'
import { contextOf } from '../context.ts'
import type { Io } from '../io.ts'

type Change = (agent: AgentClient, id: string, options: CallOptions) => Promise<VoteResult>

export function addVote(program: Command, io: Io): void {
  add(program, io, 'vote', 'vote for a post on a board; a new vote costs 1 unit', 'voted for', (agent, id, options) =>
    agent.vote(id, options),
  )
}

export function addUnvote(program: Command, io: Io): void {
  add(program, io, 'unvote', 'take a vote back; free', 'removed the vote for', (agent, id, options) =>
    agent.removeVote(id, options),
  )
}

function add(program: Command, io: Io, name: string, description: string, done: string, change: Change): void {
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
