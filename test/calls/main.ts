/** `npx pnpm calls`: writes who calls each service, and whom it calls, into its README. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readSources } from '../check.ts'
import { readCommandLine } from '../support/run/command-line.ts'
import { fillReadmes } from './sections.ts'

readCommandLine({
  command: 'npx pnpm calls',
  does: "Writes who calls each service, and whom it calls, into the service's README, from the code and deploy/nats/users.conf.",
  options: {},
})
for (const { path, text } of fillReadmes(readSources(/./))) {
  writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), text)
}
