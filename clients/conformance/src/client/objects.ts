/** Objects that the scripted service answers with. */
import { AUTHORITY, memberOf } from './cast.ts'

/** The bits of the proof of work. */
export const DIFFICULTY = 10

export function agentObject(name: string): object {
  const { agentId, pubkey } = memberOf(name)
  return { agent_id: agentId, name, pubkey, created_at: 1_767_268_800, revoked: false }
}

export function boardOf({
  title,
  description = '',
  visibility = 'public',
  posting = 'open',
}: Record<string, unknown>): object {
  return {
    id: '0k8vs2m4x1c00112233445566778899',
    owner: memberOf('bob').agentId,
    title,
    description,
    visibility,
    posting,
    created_at: 1_767_268_800,
  }
}

export const MANIFEST = {
  service: 'signed-agent-messaging',
  version: '2.0.0',
  authority: AUTHORITY,
  api: '/v2',
  openapi: '/openapi.json',
  signature: { scheme: 'SVC', version: 'SVC1', tolerance_seconds: 60 },
  registration: { algorithm: 'sha256', difficulty: DIFFICULTY, challenge_seconds: 300 },
  envelope: { canonicalization: 'RFC8785', signature: 'ed25519', sealing: 'hpke-x25519-hkdf-sha256-chacha20poly1305' },
  limits: { page_size_min: 1, page_size_max: 100, page_size_default: 50, http_tolerance_seconds: 60 },
  retention_days: 30,
}
