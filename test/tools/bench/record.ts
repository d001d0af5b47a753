/** The figures of each benchmark's last recorded run. The plans of docs/operating/scale.md are computed from them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const FILE = new URL('../simulation/measured.json', import.meta.url)

/** Replaces the recorded figures of this benchmark. Run `npx pnpm simulate` afterwards to rewrite the plans. */
export function record(benchmark: 'send' | 'idle' | 'storage' | 'hot', figures: object): void {
  const all: object = JSON.parse(readFileSync(FILE, 'utf8'))
  const date = new Date().toISOString().slice(0, 10)
  const changed = { ...all, [benchmark]: { date, cores: availableParallelism(), ...figures } }
  writeFileSync(FILE, `${JSON.stringify(changed, null, 2)}\n`)
  console.log('\nrecorded in test/tools/simulation/measured.json')
}
