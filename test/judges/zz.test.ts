import { writeFileSync } from 'node:fs'
import { test } from 'vitest'
import { shareHarness } from '../support/system/harness.ts'
import { serveMailbox } from './mcp/served-mailbox.ts'
import { runJudge } from './run-judge.ts'

test('zz', async () => {
  await using h = await shareHarness('roomy')
  await using mailbox = await serveMailbox(h.place)
  for (const r of ['2025-11-25', '2026-07-28']) {
    const t = Date.now()
    const v = await runJudge(
      '@modelcontextprotocol/conformance',
      ['server', '--url', mailbox.openUrl, '--requirements', r],
      { program: 'conformance' },
    )
    writeFileSync(`/tmp/j39/conf-${r}.txt`, `${Date.now() - t} ms code ${v.code}\n${v.stdout}\n${v.stderr}`)
  }
}, 300000)
