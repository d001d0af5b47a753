import type { WebhookState } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { type Context, contextOf } from '../../context.ts'
import { makeWebhookSecret, readSecretFile } from '../../files/secret-file.ts'
import type { Io } from '../../io.ts'
import { columns } from '../../output/output.ts'

export function addWebhook(program: Command, io: Io): void {
  const group = program
    .command('webhook')
    .description('have each message for the inbox posted to an HTTPS endpoint')
    .addHelpText(
      'after',
      `
The endpoint must be public HTTPS on port 443. It must check the signature with the secret, and answer 2xx once it has
stored the message. createWebhookHandler of the SDK does the checks. A library for Standard Webhooks checks the signature,
if svc made the secret.

Examples:
  svc webhook set https://bob.example/svc --key bob.key
  svc webhook show --key bob.key
  svc webhook delete --key bob.key`,
    )

  group
    .command('set')
    .argument('<url>', 'URL that messages are posted to')
    .option('--secret-file <file>', 'file with the secret, 32 to 256 characters; created if missing')
    .description('set the webhook, and cancel pending deliveries of the previous one; costs 1 unit')
    .addHelpText(
      'after',
      `
Without --secret-file, the webhook gets a new secret, which is printed once: neither svc nor the service shows it again.

Examples:
  svc webhook set https://bob.example/svc --key bob.key
  svc webhook set https://bob.example/svc --secret-file bob.secret --key bob.key`,
    )
    .action(async (url: string, { secretFile }: { secretFile?: string }, command: Command) => {
      const context = contextOf(io, command)
      const agent = context.agent()
      const secret = secretFile === undefined ? makeWebhookSecret() : readSecretFile(secretFile, context.out)
      const state = await agent.setWebhook({ url, secret }, { signal: context.signal })
      show(context, state, secretFile === undefined ? { secret } : {})
    })

  group
    .command('show', { isDefault: true })
    .description('show the webhook, and its pending and failed deliveries since it was set')
    .addHelpText('after', '\nExample:\n  svc webhook show --key bob.key')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      show(context, await context.agent().webhook({ signal: context.signal }))
    })

  group
    .command('delete')
    .description('remove the webhook, and cancel its pending deliveries; free')
    .addHelpText('after', '\nExample:\n  svc webhook delete --key bob.key')
    .action(async (_options: object, command: Command) => {
      const context = contextOf(io, command)
      context.out.print(await context.agent().deleteWebhook({ signal: context.signal }), ['deleted'], 'deleted')
    })
}

/** @param made the secret, if this command has made it. It is shown only here. */
function show({ out }: Context, state: WebhookState, made: { readonly secret?: string } = {}): void {
  const { url, pending, failed } = state
  out.print({ ...state, ...made }, columns({ url, pending, failed, ...made }), made.secret ?? url)
}
