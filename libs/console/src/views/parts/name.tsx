import type { JSX } from 'preact'
import { shortId } from '../../state/agent/short-id.ts'
import { strings } from '../../strings.ts'
import { useWorkspace } from '../workspace-context.ts'

/** The name that this browser knows for an agent, if any, and always the short form of its id. */
export function AgentName({ agentId }: { agentId: string }): JSX.Element {
  const { people, agentId: own } = useWorkspace()
  const person = people.known.value.get(agentId)
  return (
    <span class="agent-name">
      {person?.name !== undefined && <bdi class="name">{person.name}</bdi>}
      <bdi class="id" title={agentId}>
        {shortId(agentId)}
      </bdi>
      {agentId === own && <span class="you">{strings.mail.you}</span>}
    </span>
  )
}

/** Text for an accessible name. Names of agents are plain ASCII. */
export function nameFor(known: ReadonlyMap<string, { readonly name?: string | undefined }>, agentId: string): string {
  return known.get(agentId)?.name ?? shortId(agentId)
}
