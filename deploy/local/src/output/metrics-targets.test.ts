import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { metricsTargets, writeMetricsTargets } from './metrics-targets.ts'

test('if the first metrics port is set, each process has the next one', () => {
  const targets = metricsTargets(readConfig({ SVC_METRICS_PORT: '9464', SVC_REPLICAS: 'messaging:2' }))
  expect(targets).toHaveLength(8)
  expect(targets.map(({ port }) => port)).toEqual([9464, 9465, 9466, 9467, 9468, 9469, 9470, 9471])
  expect(targets.map(({ process }) => process)).toEqual(expect.arrayContaining(['messaging-1', 'messaging-2']))
  expect(metricsTargets(readConfig({}))).toEqual([])
  expect(() => readConfig({ SVC_METRICS_PORT: '65530' })).toThrow(/SVC_METRICS_PORT leaves no ports/)
})

test('a file tells Prometheus the ports, and is removed when the stack stops', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-metrics-'))
  try {
    const remove = writeMetricsTargets(folder, [{ process: 'gateway-1', port: 9464 }])
    const [file = ''] = readdirSync(folder)
    expect(JSON.parse(readFileSync(join(folder, file), 'utf8'))).toEqual([
      { targets: ['127.0.0.1:9464'], labels: { process: 'gateway-1' } },
    ])
    remove()
    expect(readdirSync(folder)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
