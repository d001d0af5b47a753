import { describe, expect, test, vi } from 'vitest'

// The registry belongs to the process, and test files share a process. This is a separate registry, in which nothing is
// counted yet.
vi.resetModules()
const { defineCount, defineDistribution, defineLevel, renderMetrics, startMetrics } = await import('./metrics.ts')

const warnings: unknown[] = []
const logger = { warn: (...line: unknown[]) => void warnings.push(...line) }
const count = defineCount({ name: 'agentmsg_test_count_total', help: 'c', labels: ['kind'] })
const failures = defineCount({ name: 'agentmsg_test_failures_total', help: 'f', labels: ['call', 'outcome'] })
const seconds = defineDistribution({ name: 'agentmsg_test_seconds', help: 'd', labels: ['kind'] })
const level = defineLevel({ name: 'agentmsg_test_level', help: 'l', labels: [] })
const byKind = defineLevel({ name: 'agentmsg_test_kinds', help: 'l', labels: ['kind'] })

async function samples(name: string): Promise<string[]> {
  const { text } = await renderMetrics()
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .map((line) => line.replace(',component="test"', '').replace('{component="test"}', ''))
}

describe('metrics', () => {
  test('nothing is counted until metrics can be scraped', async () => {
    count.add({ kind: 'early' })
    failures.startAt0({ call: ['early'], outcome: ['internal', 'unavailable'] })
    seconds.observe({ kind: 'early' }, 1)
    startMetrics({ service: 'test', version: '1', logger })
    count.add({ kind: 'late' }, 2)
    expect(await samples('agentmsg_test_count_total')).toEqual(['agentmsg_test_count_total{kind="late"} 2'])
    expect(await samples('agentmsg_test_seconds')).toEqual([])
  })

  test('failures start at 0, whether they are named before counting starts or after it, and keep their count', async () => {
    failures.startAt0({ call: 'late', outcome: ['internal', 'unavailable'] })
    failures.add({ call: 'late', outcome: 'internal' })
    failures.startAt0({ call: 'late', outcome: 'internal' })
    expect(await samples('agentmsg_test_failures_total')).toEqual([
      'agentmsg_test_failures_total{call="early",outcome="internal"} 0',
      'agentmsg_test_failures_total{call="early",outcome="unavailable"} 0',
      'agentmsg_test_failures_total{call="late",outcome="internal"} 1',
      'agentmsg_test_failures_total{call="late",outcome="unavailable"} 0',
    ])
  })

  test('a value that cannot be read is missing, not 0, and the others are reported', async () => {
    const failing = level.read(() => Promise.reject(new Error('away')))
    byKind.read(() => [
      [{ kind: 'a' }, 1],
      [{ kind: 'b' }, 2],
    ])
    byKind.read(async () => [[{ kind: 'a' }, 3]])
    expect(await samples('agentmsg_test_level')).toEqual([])
    expect(warnings).toEqual(['agentmsg_test_level has no value in this scrape: away'])
    expect(await samples('agentmsg_test_kinds')).toEqual([
      'agentmsg_test_kinds{kind="a"} 4',
      'agentmsg_test_kinds{kind="b"} 2',
    ])
    failing[Symbol.dispose]()
    using _ = level.read(() => [[{}, 7]])
    expect(await samples('agentmsg_test_level')).toEqual(['agentmsg_test_level 7'])
  })
})
