/** Bodies that are I-JSON, and those that are not: bytes that YAML cannot write. */
import type { Case } from '../../cases/case.ts'
import { check, expectOutcome } from '../../cases/check.ts'
import { vectorsOf } from '../../cases/load.ts'
import { outcomeOf } from '../../cases/outcome.ts'
import { shareAgent } from '../shared.ts'

const agentOf = shareAgent()

export const JSON_BODIES: readonly Case[] = vectorsOf('refused-json.json cases').map(
  ({ about, text, hex, code }, at) => ({
    id: `formats/json-bodies/${at + 1}`,
    title: `JSON bodies: ${about} is ${code ?? 'I-JSON'}`,
    spec: ['2.5'],
    needs: [],
    agents: 0,
    async run(world) {
      const agent = await agentOf(world)
      const body = typeof hex === 'string' ? Buffer.from(hex, 'hex') : String(text)
      // No member of the settings has such a name, so I-JSON is refused for its members.
      const answer = agent.call('PATCH', '/v2/me', { body, headers: { 'content-type': 'application/json' } })
      if (code === 'invalid_json') await expectOutcome(answer, '400 invalid_json', 'PATCH /v2/me')
      else check(outcomeOf(await answer), { $one_of: ['400 invalid_request', '200'] }, 'PATCH /v2/me')
    },
  }),
)
