/** The verdicts of `docs/vectors` as cases, one for each. */
import { readFileSync } from 'node:fs'
import { findFolder } from '../report/rules.ts'
import type { ClientCase } from './case.ts'

interface Vector {
  readonly about: string
  readonly reader: string
  readonly read_from: string
  readonly sender_public_key?: string
  readonly envelope: { readonly from: string }
  readonly verdict: string
}

interface Vectors {
  readonly agents: readonly { readonly agent_id: string; readonly public_key: string }[]
  readonly cases: readonly Vector[]
}

export function readVectorCases(): ClientCase[] {
  const verdicts: Vectors = JSON.parse(readFileSync(`${findFolder('vectors')}verdicts.json`, 'utf8'))
  return verdicts.cases.map((one, at) => {
    const { about, reader, read_from, envelope, verdict } = one
    // Nothing finds a key by an id: the reader was told it.
    const told = verdicts.agents.find(({ agent_id }) => agent_id === envelope.from)?.public_key
    const key = one.sender_public_key ?? told
    return {
      id: `vectors/verdict-${String(at + 1).padStart(2, '0')}`,
      title: `${about}: ${verdict}`,
      spec: ['13.5', '3.4', 'body_enc' in envelope ? '6.4' : '6.3'],
      level: 'must',
      as: reader,
      ahead: 0,
      events: [],
      answers: {},
      start: 'ok',
      steps: [
        {
          do: 'verify',
          with: { envelope, read_from, ...(key === undefined ? {} : { sender_key: `ed25519:${key}` }) },
          reply: { ok: { verdict } },
        },
      ],
      expect: [],
    }
  })
}
