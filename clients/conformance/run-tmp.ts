import { runClientSuite } from './src/client/suite.ts'

const [only = '', ...command] = process.argv.slice(2)
const t = Date.now()
const results = await runClientSuite({ command, only: new RegExp(only) })
for (const r of results) if (r.status !== 'passed') console.log(r.status, r.id, r.milliseconds, '::', r.reason)
const n = (s: string) => results.filter((r) => r.status === s).length
console.log({
  passed: n('passed'),
  failed: n('failed'),
  skipped: n('skipped'),
  ms: Date.now() - t,
  slow: results
    .toSorted((a, b) => b.milliseconds - a.milliseconds)
    .slice(0, 6)
    .map((r) => [r.id, r.milliseconds]),
})
