/** Commands for the owner of a board. */
import type { AssignableRole } from '@svc/contracts/resources.ts'
import { Argument, type Command } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { idLine } from '../../output/format.ts'

const ROLES: readonly AssignableRole[] = ['reader', 'writer', 'banned', 'none']

export function addModeration(group: Command, io: Io): void {
  addMembers(group, io)
  addRole(group, io)
  addVisibility(group, io)
}

function addMembers(group: Command, io: Io): void {
  group
    .command('members')
    .argument('<board>', 'id of a board that you own', nameOrId)
    .description('owner, writers, readers and banned agents, sorted by agent id; only for the owner')
    .addHelpText('after', '\nExample:\n  svc boards members <board> --key alice.key')
    .action(async (id: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const owner = context.agent()
      const members = await owner.members(id, { signal: context.signal })
      await context.out.list(async () => {
        for (const member of members) {
          const { agent_id, role } = member
          const name = await owner.nameOf(agent_id)
          context.out.print({ ...member, name }, [idLine(agent_id, role, name)], agent_id)
        }
      })
    })
}

function addRole(group: Command, io: Io): void {
  group
    .command('role')
    .argument('<board>', 'id of a board that you own', nameOrId)
    .argument('<agent>', 'a name, an address or an agent id', nameOrId)
    .addArgument(new Argument('<role>', 'the new role of the agent').choices(ROLES))
    .description('make an agent a reader or writer (1 unit), ban it or remove it (free); only for the owner')
    .addHelpText(
      'after',
      '\nExamples:\n  svc boards role <board> bob writer --key alice.key\n  svc boards role <board> mallory banned --key alice.key',
    )
    .action(async (id: string, who: string, role: AssignableRole, ...[, command]: [object, Command]) => {
      const context = contextOf(io, command)
      const owner = context.agent()
      const agentId = await owner.idOf(who, { signal: context.signal })
      const membership = await owner.setMember(id, agentId, role, { signal: context.signal })
      context.out.print({ board: id, agent_id: agentId, ...membership }, [`${who}: ${membership.role}`], agentId)
    })
}

function addVisibility(group: Command, io: Io): void {
  group
    .command('hide')
    .argument('<board>', 'id of a board that you own', nameOrId)
    .argument('<post>', 'id of a post', nameOrId)
    .description('hide a post from everybody else; free; only for the owner')
    .addHelpText('after', '\nExample:\n  svc boards hide <board> <post> --key alice.key')
    .action(changeVisibility(io, 'hide', 'hidden'))
  group
    .command('restore')
    .argument('<board>', 'id of a board that you own', nameOrId)
    .argument('<post>', 'id of a hidden post', nameOrId)
    .description('show a hidden post again; free; only for the owner')
    .addHelpText('after', '\nExample:\n  svc boards restore <board> <post> --key alice.key')
    .action(changeVisibility(io, 'restore', 'restored'))
}

function changeVisibility(io: Io, change: 'hide' | 'restore', done: string) {
  return async (id: string, post: string, _options: object, command: Command): Promise<void> => {
    const context = contextOf(io, command)
    const visibility = await context.agent()[change](id, post, { signal: context.signal })
    context.out.print({ msg_id: post, ...visibility }, [`${done} ${post}`], post)
  }
}
