/** The suspension of an agent by an operator (spec 12.4). Identity decides it, and tells the services that act on it. */
import { type Static, Type } from '@sinclair/typebox'
import { AgentId } from './ids.ts'
import { closed } from './resources.ts'

/** The end of the year 9999: later times have no ISO text of the usual form. */
const MAX_UNTIL = 253_402_300_799

/** `until`: when it ends by itself, in Unix seconds. Null: when an operator ends it. */
export const Suspension = closed({ until: Type.Union([Type.Integer({ minimum: 0, maximum: MAX_UNTIL }), Type.Null()]) })
export type Suspension = Static<typeof Suspension>

/** What identity tells messaging and webhook. Null: not suspended. A version at or below the last one is a no-op. */
export const SuspensionChange = closed({
  agent_id: AgentId,
  suspension: Type.Union([Suspension, Type.Null()]),
  version: Type.Integer({ minimum: 1 }),
})
export type SuspensionChange = Static<typeof SuspensionChange>
