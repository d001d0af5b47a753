import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { shortId } from '../../state/agent/short-id.ts'
import { inPassing } from '../../state/failures.ts'
import { strings } from '../../strings.ts'
import { useWorkspace } from '../workspace-context.ts'

/** An agent, given by id or address: its name, as far as this browser can find it, or else the short form of its id. */
export function AgentName({ who }: { who: string }): JSX.Element {
  const { people } = useWorkspace()
  const person = people.find(who)
  const agentId = person?.agentId ?? (isAgentId(who) ? who : undefined)
  const name = person?.name ?? (agentId === undefined ? who : undefined)
  useEffect(() => {
    if (person === undefined) inPassing(people.meet(who))
  }, [who])
  return (
    <span class="agent-name" title={agentId}>
      {name === undefined ? <bdi class="id">{shortId(agentId ?? who)}</bdi> : <bdi class="name">{name}</bdi>}
      {person?.source === 'self' && <span class="you">{strings.mail.you}</span>}
    </span>
  )
}
