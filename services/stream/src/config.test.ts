import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const CONNECTIONS = { SVC_NATS_URL: 'nats://localhost', SVC_DATABASE_URL: 'postgres://u@localhost' }

test('spec 9.7, 9.8, 11.7: 200 streams per process, 5 minutes, 15 s', () => {
  expect(readConfig(CONNECTIONS)).toMatchObject({
    streamsPerProcess: 200,
    maxSeconds: 300,
    heartbeatSeconds: 15,
    port: 0,
  })
})

test('every mistake is reported at once; gateways cannot use an address on all interfaces', () => {
  const env = { SVC_STREAM_HOST: '0.0.0.0', SVC_STREAMS_PER_PROCESS: '0', SVC_STREAM_HEARTBEAT_SECONDS: '60' }
  expect(() => readConfig(env)).toThrow(
    /SVC_NATS_URL.*SVC_DATABASE_URL.*SVC_STREAMS_PER_PROCESS.*SVC_STREAM_HEARTBEAT_SECONDS.*SVC_STREAM_ADVERTISED_HOST/,
  )
  expect(readConfig({ ...CONNECTIONS, SVC_STREAM_HOST: '::', SVC_STREAM_ADVERTISED_HOST: 'pod-1' })).toMatchObject({
    advertisedHost: 'pod-1',
    advertisedPort: 0,
  })
})

test('streams are fetched over http, so the advertised host has no scheme', () => {
  const env = { ...CONNECTIONS, SVC_STREAM_ADVERTISED_HOST: 'https://pod-1' }
  expect(() => readConfig(env)).toThrow('SVC_STREAM_ADVERTISED_HOST must be a host alone, without a scheme')
})
