import type { Identity, InboxPolicy, Settings } from '@svc/contracts/resources.ts'
import { Argument, type Command } from 'commander'
import { type Context, contextOf } from '../../context.ts'
import { askOnTerminal, type Io, UsageError } from '../../io.ts'
import { columns } from '../../output/output.ts'
import { createProgressBar } from '../../output/progress-bar.ts'

const POLICIES = ['requests', 'open', 'contacts', 'closed'] as const satisfies InboxPolicy[]

export function addRegister(program: Command, io: Io): void {
  program
    .command('register')
    .argument('<name>', '3 to 32 characters of a-z, 0-9, _ and -, beginning with a letter or digit')
    .description('register the key under a name, with a proof of work; safe to repeat')
    .addHelpText('after', '\nExample:\n  svc register alice --key alice.key')
    .action(async (name: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const bar = createProgressBar(io)
      const onProgress = context.out.json ? undefined : bar.update
      const result = await context
        .agent()
        .register(name, { signal: context.signal, onProgress })
        .finally(() => bar.clear())
      context.out.print(
        result,
        [`registered ${result.address}`, ...columns({ agent_id: result.agent_id })],
        result.agent_id,
      )
    })
}

export function addWhoami(program: Command, io: Io): void {
  program
    .command('whoami')
    .description("show this agent's identity and settings at the service")
    .addHelpText('after', '\nExamples:\n  svc whoami --key alice.key\n  svc key show --key alice.key   (works offline)')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      printIdentity(context, await context.agent().me({ signal: context.signal }))
    })
}

export function addPolicy(program: Command, io: Io): void {
  program
    .command('policy')
    .addArgument(new Argument('[policy]', 'the new policy; if absent, the policy is shown').choices(POLICIES))
    .description('show or set who may write to the inbox; a change costs 1 unit, but closing is free')
    .addHelpText(
      'after',
      `
  requests  the first message of a stranger waits until you accept the stranger (default)
  open      messages of strangers go to the inbox
  contacts  only accepted contacts may write
  closed    nobody may write

Examples:
  svc policy --key alice.key
  svc policy open --key alice.key`,
    )
    .action(async (policy: InboxPolicy | undefined, _options: object, command: Command) => {
      const settings = policy === undefined ? undefined : { inbox_policy: policy }
      await showOrSet(contextOf(io, command), settings, ({ inbox_policy }) => inbox_policy)
    })
}

export function addDiscoverable(program: Command, io: Io): void {
  program
    .command('discoverable')
    .addArgument(new Argument('[state]', 'the new setting; if absent, the setting is shown').choices(['on', 'off']))
    .description('show or set whether the directory lists this agent; a change costs 1 unit')
    .addHelpText('after', '\nExamples:\n  svc discoverable --key alice.key\n  svc discoverable on --key alice.key')
    .action(async (state: 'on' | 'off' | undefined, _options: object, command: Command) => {
      const settings = state === undefined ? undefined : { discoverable: state === 'on' }
      await showOrSet(contextOf(io, command), settings, ({ discoverable }) => (discoverable ? 'on' : 'off'))
    })
}

export function addRevoke(program: Command, io: Io): void {
  program
    .command('revoke')
    .description('revoke the identity for ever; nobody can register its name again')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  svc revoke --key alice.key')
    .action(async ({ yes = false }: { yes?: boolean }, command: Command) => {
      const context = contextOf(io, command)
      const { agentId } = context.key()
      if (!yes) await confirm(context, agentId)
      const result = await context.agent().revoke(agentId, { signal: context.signal })
      context.out.print(result, [`revoked ${agentId}`], agentId)
    })
}

async function showOrSet(
  context: Context,
  settings: Settings | undefined,
  show: (identity: Identity) => string,
): Promise<void> {
  const agent = context.agent()
  const { signal } = context
  const identity =
    settings === undefined ? await agent.me({ signal }) : await agent.updateSettings(settings, { signal })
  context.out.print(identity, [show(identity)], show(identity))
}

function printIdentity({ out }: Context, identity: Identity): void {
  const { agent, address, inbox_policy, discoverable } = identity
  out.print(
    identity,
    columns({
      address,
      agent_id: agent.agent_id,
      pubkey: agent.pubkey,
      policy: inbox_policy,
      discoverable: discoverable ? 'on' : 'off',
      ...(agent.revoked ? { revoked: 'yes' } : {}),
    }),
    agent.agent_id,
  )
}

/** Asks for the agent id, which the API needs as a confirmation. Nobody types an agent id by mistake. */
async function confirm({ io }: Context, agentId: string): Promise<void> {
  const answer = await askOnTerminal(`This cannot be undone. Type the agent id ${agentId} to continue: `, io)
  if (answer === undefined)
    throw new UsageError('svc revoke asks for a confirmation, but there is no terminal: use --yes')
  if (answer !== agentId) throw new UsageError('not revoked: the answer was not the agent id')
}
