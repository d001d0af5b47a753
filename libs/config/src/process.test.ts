import { expect, test } from 'vitest'
import { envReader } from './env-reader.ts'
import { readProcess } from './process.ts'

test('nothing listens for metrics unless a port is set', () => {
  expect(readProcess(envReader({}))).toEqual({ logLevel: 'info', metrics: undefined })
  expect(readProcess(envReader({ SVC_METRICS_PORT: '9464', SVC_LOG_LEVEL: 'debug' }))).toEqual({
    logLevel: 'debug',
    metrics: { host: '127.0.0.1', port: 9464 },
  })
  expect(readProcess(envReader({ SVC_METRICS_PORT: '0', SVC_METRICS_HOST: '::' })).metrics).toEqual({
    host: '::',
    port: 0,
  })
})

test('every mistake is reported under the name of its variable', () => {
  const e = envReader({ SVC_LOG_LEVEL: 'loud', SVC_METRICS_PORT: '65536' })
  readProcess(e)
  expect(() => e.check()).toThrow(/SVC_LOG_LEVEL must be one of trace.*SVC_METRICS_PORT must be a whole number/)
})

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector.example'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://collector:4317'],
])('traces go only to the address in %s: %s is refused', (name, url) => {
  const e = envReader({ [name]: url })
  readProcess(e)
  expect(() => e.check()).toThrow(`${name} must begin with https://`)
})
