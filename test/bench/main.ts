/** `npx pnpm bench [send]`: figures with the floors they are compared to, in one run. */
import { parseArgs } from 'node:util'
import { benchSend } from './send.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connections: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    agents: { type: 'string', default: '256' },
  },
})

if ((positionals[0] ?? 'send') !== 'send') {
  console.error(`no such benchmark: ${positionals[0]}; there is: send`)
  process.exit(2)
}
await benchSend({
  connections: Number(values.connections),
  rounds: Number(values.rounds),
  secondsPerRound: Number(values.seconds),
  agents: Number(values.agents),
})
process.exit(0)
