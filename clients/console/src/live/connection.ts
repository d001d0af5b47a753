import type { HealthState } from '../state/health.ts'
import type { strings } from '../strings.ts'
import type { LiveState } from './leader.ts'

/** What a person is told about the connection. */
interface Connection {
  readonly state: 'live' | 'reconnecting' | 'offline'
  readonly word: keyof typeof strings.live.states
  readonly hint: keyof typeof strings.live.hints
}

interface Signs {
  readonly health: HealthState
  readonly isOnline: boolean
  /** Undefined before the first connection. */
  readonly stream: LiveState | undefined
}

/** A stream that is still open says nothing about the rest of the service, so the requests decide first. */
export function connectionOf({ health, isOnline, stream }: Signs): Connection {
  const say = (state: Connection['state'], hint: Connection['hint']): Connection => ({ state, word: state, hint })
  if (stream === 'stopped') return say('offline', 'stopped')
  if (health === 'failing') return say('offline', isOnline ? 'offline' : 'noNetwork')
  if (stream === 'live') return say('live', 'live')
  if (stream === 'polling') return { state: 'live', word: 'polling', hint: 'polling' }
  return say('reconnecting', stream === 'catching_up' ? 'catchingUp' : 'reconnecting')
}
