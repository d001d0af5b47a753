/** A chart of a round: the times of answers, with the faults marked. */
import { lineChart } from '../support/charts/line-chart.ts'
import type { Entry } from './history/history.ts'

const BUCKET_MS = 500

export function chartOfRound(entries: readonly Entry[]): string {
  const calls = new Map(entries.flatMap((entry) => (entry.type === 'call' ? [[entry.n, entry.atMs] as const] : [])))
  const startMs = Math.min(...calls.values())
  const answers = entries.flatMap((entry) => {
    const calledMs = entry.type === 'answer' ? calls.get(entry.n) : undefined
    if (entry.type !== 'answer' || calledMs === undefined) return []
    const isUnknown = entry.status === null || entry.status === 503
    return [{ atMs: calledMs - startMs, tookMs: entry.atMs - calledMs, isUnknown }]
  })
  const buckets = [...Map.groupBy(answers, ({ atMs }) => Math.floor(atMs / BUCKET_MS))].toSorted(([a], [b]) => a - b)
  const seconds = (bucket: number): number => (bucket * BUCKET_MS) / 1_000
  return lineChart({
    title: `Requests while the system is broken on purpose, by ${BUCKET_MS} ms in which they began`,
    across: 'seconds',
    lines: [
      {
        name: 'longest answer, ms',
        points: buckets.map(([at, some]) => [seconds(at), Math.max(...some.map(({ tookMs }) => tookMs))]),
      },
      { name: 'requests', points: buckets.map(([at, some]) => [seconds(at), some.length]) },
      {
        name: '503 or no answer',
        points: buckets.map(([at, some]) => [seconds(at), some.filter(({ isUnknown }) => isUnknown).length]),
      },
    ],
    spans: spansOf(entries, startMs),
  })
}

function spansOf(entries: readonly Entry[], startMs: number) {
  const faults = entries.filter((entry) => entry.type === 'fault')
  return faults
    .filter(({ phase }) => phase === 'begin')
    .map(({ name, detail, atMs }) => {
      const end = faults.find(
        (one) => one.phase === 'end' && one.name === name && one.detail === detail && one.atMs >= atMs,
      )
      return { name, from: (atMs - startMs) / 1_000, to: ((end?.atMs ?? atMs) - startMs) / 1_000 }
    })
}
