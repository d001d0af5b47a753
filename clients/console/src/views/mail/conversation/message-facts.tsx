import type { Message } from '@svc/contracts/resources.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { hrefOf } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { AgentName } from '../../parts/name.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { mail } = strings

/** What the envelope says besides its text. */
export function MessageFacts({ message }: { message: Message }): JSX.Element {
  const { people } = useWorkspace()
  const { id, from, to, ts, reply_to } = message.envelope
  return (
    <details class="facts-box">
      <summary>{mail.details}</summary>
      <dl class="facts">
        <dt>{mail.from}</dt>
        <dd>
          <AgentName who={from} /> <span class="code">{from}</span>
        </dd>
        <dt>{mail.senderId}</dt>
        <dd class="code">{people.find(from)?.agentId ?? (isAgentId(from) ? from : mail.senderUnknown)}</dd>
        <dt>{mail.to}</dt>
        <dd class="code">{to}</dd>
        <dt>{mail.sentAt}</dt>
        <dd>
          <Time seconds={Date.parse(ts) / 1000} full />
        </dd>
        <dt>{mail.expires}</dt>
        <dd>
          <Time seconds={message.expires_at} full />
        </dd>
        <dt>{mail.id}</dt>
        <dd class="code">{id}</dd>
        {reply_to !== undefined && (
          <>
            <dt>{mail.inReplyTo}</dt>
            <dd>
              <a class="code" href={hrefOf('inbox', reply_to)}>
                {reply_to}
              </a>
            </dd>
          </>
        )}
      </dl>
    </details>
  )
}
