/** `npx pnpm dashboards`: writes deploy/observability/dashboards. */
import { writeFileSync } from 'node:fs'
import { readCommandLine } from '../../support/run/command-line.ts'
import { dashboardFiles, FOLDER } from './files.ts'

readCommandLine({
  command: 'npx pnpm dashboards',
  does: 'Writes the dashboards of deploy/observability/dashboards from the tables in test/tools/dashboards.',
  options: {},
})
for (const [name, text] of dashboardFiles()) writeFileSync(new URL(name, FOLDER), text)
