import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { attempt } from '../../state/failures.ts'
import { strings } from '../../strings.ts'
import { Copyable } from '../parts/copy.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { BudgetBox } from './budget-box.tsx'
import { DangerBox } from './danger-box.tsx'
import { DataBox } from './data-box.tsx'
import { ReceivingBox } from './receiving-box.tsx'
import { SecurityBox } from './security-box.tsx'
import { WebhookBox } from './webhook-box.tsx'

const { settings: texts } = strings

export function SettingsPage(): JSX.Element {
  const { settings, budget } = useWorkspace()
  useEffect(() => {
    void attempt(async () => {
      await Promise.all([settings.refresh(), settings.refreshWebhook(), budget.refresh()])
    })
  }, [])
  return (
    <div class="column settings">
      <h1>{strings.pages.settings}</h1>
      <AgentBox />
      <BudgetBox />
      <ReceivingBox />
      <WebhookBox />
      <SecurityBox />
      <DataBox />
      <DangerBox />
    </div>
  )
}

function AgentBox(): JSX.Element {
  const { settings, context } = useWorkspace()
  const address = settings.identity.value?.address
  return (
    <section class="box" aria-label={texts.agent}>
      <h2>{context.name.value}</h2>
      <dl class="facts">
        {address !== undefined && (
          <>
            <dt>{texts.address}</dt>
            <dd>
              <Copyable value={address} label={texts.address} />
            </dd>
          </>
        )}
        <dt>{texts.agentId}</dt>
        <dd>
          <Copyable value={context.key.agentId} label={texts.agentId} />
        </dd>
        <dt>{texts.publicKey}</dt>
        <dd>
          <Copyable value={context.key.pubkey} label={texts.publicKey} />
        </dd>
      </dl>
    </section>
  )
}
