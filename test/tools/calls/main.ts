/** `npx pnpm calls`: writes the callers and callees of each service into its README. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../../support/run/command-line.ts'
import { readSources } from '../check.ts'
import { fillReadmes } from './sections.ts'

readCommandLine({
  command: 'npx pnpm calls',
  does: 'Writes the callers and callees of each service, found in the code and deploy/nats/users.conf, into its README.',
  options: {},
})
for (const { path, text } of fillReadmes(readSources(/./))) {
  writeFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), text)
}
