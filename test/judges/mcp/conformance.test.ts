/**
 * The conformance suite of the Model Context Protocol against `svc mcp --http`: what each revision requires. Its lists of expected
 * failures are YAML, each entry with its reason as a comment. Most entries lack a fixture: the suite calls tools, resources and
 * prompts of a server that was written for it.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { shareHarness } from '../../support/system/harness.ts'
import { expectOnly } from '../expected.ts'
import { runJudge } from '../run-judge.ts'
import { type ServedMailbox, serveMailbox } from './served-mailbox.ts'

let mailbox: ServedMailbox
beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  const h = stack.use(await shareHarness('roomy'))
  mailbox = stack.use(await serveMailbox(h.place))
  const started = stack.move()
  return () => started.disposeAsync()
})

test.each(['2025-11-25', '2026-07-28'])('what the revision %s requires', async (revision) => {
  const list = fileURLToPath(new URL(`conformance-${revision}.yaml`, import.meta.url))
  const entries = readFileSync(list, 'utf8').matchAll(/^ +- (\S+)(?: # (.*))?$/gm)
  const expected = Object.fromEntries([...entries].map(([, entry, reason = '']) => [entry, reason]))
  const { code, stdout, stderr } = await runJudge(
    '@modelcontextprotocol/conformance',
    ['server', '--url', mailbox.openUrl, '--requirements', revision, '--expected-failures', list],
    { program: 'conformance' },
  )
  expect(code, stdout.slice(-8_000) + stderr.slice(-2_000)).toBe(0)
  // The suite itself does not fail for each entry that no longer happens, so compare its report of those that did.
  const failures = [...stdout.matchAll(/^ +~ (\S+)$/gm)].map(([, entry = '']) => entry)
  expectOnly(failures, expected)
})
