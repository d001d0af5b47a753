import { ConfigError } from '@svc/config/env-reader.ts'
import { describe, expect, test } from 'vitest'
import { readConfig } from './config.ts'

const REQUIRED = { SVC_NATS_URL: 'nats://127.0.0.1:4222' }

describe('the configuration of a gateway', () => {
  test('the defaults', () => {
    expect(readConfig(REQUIRED)).toEqual({
      natsUrl: REQUIRED.SVC_NATS_URL,
      securityLog: false,
      process: { logLevel: 'info' },
      httpHost: '127.0.0.1',
      httpPort: 8080,
      authority: '127.0.0.1:8080',
      trustedProxies: [],
      corsOrigins: [],
      console: expect.any(URL),
      rate: { perSecond: 100, burst: 200 },
      registrationRate: { perSecond: 1, burst: 30 },
      drainSeconds: 0,
      maxRequests: 1024,
      maxConnectionsPerClient: 4_000,
      powDifficulty: 18,
      retentionDays: 30,
      dailyFreeUnits: 100,
      dailyHardLimit: 1000,
      dailyIntroductions: 10,
      streamSeconds: 300,
      streamsPerProcess: 200,
    })
  })

  test('every mistake is reported at once, by the name of its variable', () => {
    const wrong = {
      SVC_HTTP_PORT: '65536',
      SVC_AUTHORITY: 'https://agents.example',
      SVC_TRUSTED_PROXIES: '10.0.0.0/8,10.0.0.0/99',
      SVC_CORS_ORIGINS: 'https://app.example/path',
      SVC_CONSOLE: 'yes',
      SVC_RATE_PER_SECOND: '0',
      SVC_RATE_BURST: '1.5',
      SVC_REGISTRATION_RATE_PER_SECOND: '-1',
      SVC_REGISTRATION_RATE_BURST: '0',
      SVC_RETENTION_DAYS: 'a month',
    }
    expect(() => readConfig(wrong)).toThrow(ConfigError)
    for (const name of ['SVC_NATS_URL', ...Object.keys(wrong)]) expect(() => readConfig(wrong)).toThrow(name)
  })

  test.each([
    ['', []],
    ['none', []],
    [' none ', []],
    ['192.0.2.1, 10.0.0.0/8', ['192.0.2.1/32', '10.0.0.0/8']],
    ['::1,2001:db8::/32', ['::1/128', '2001:db8::/32']],
    ['::ffff:10.0.0.0/104', ['10.0.0.0/8']],
  ])('trusted proxies: %j', (text, ranges) => {
    const { trustedProxies } = readConfig({ ...REQUIRED, SVC_TRUSTED_PROXIES: text })
    expect(trustedProxies.map(({ address, bits }) => `${address}/${bits}`)).toEqual(ranges)
  })

  test.each([
    'to-be-set',
    'None',
    '10.0.0.0/33',
    '10.0.0.0/8 192.168.0.0/16',
    '[::1]',
    'proxy.example',
    '127.1',
    '010.0.0.1',
  ])('not trusted proxies: %s, and the error names the value and says what to set', (text) => {
    expect(() => readConfig({ ...REQUIRED, SVC_TRUSTED_PROXIES: `192.0.2.1,${text}` })).toThrow(
      `SVC_TRUSTED_PROXIES has ${JSON.stringify(text)}, which is neither an IP address nor a CIDR block: list those of your proxies, or set none`,
    )
  })

  test('nobody is trusted beside a trusted proxy', () => {
    expect(() => readConfig({ ...REQUIRED, SVC_TRUSTED_PROXIES: 'none,192.0.2.1' })).toThrow(
      'SVC_TRUSTED_PROXIES has none',
    )
  })

  test.each(['https://app.example', 'http://localhost:3000', '*'])('an origin: %s', (origin) => {
    expect(readConfig({ ...REQUIRED, SVC_CORS_ORIGINS: origin }).corsOrigins).toEqual([origin])
  })

  test.each(['agents.example', 'agents.example:8443', '[::1]:8080', '127.0.0.1'])('an authority: %s', (authority) => {
    expect(readConfig({ ...REQUIRED, SVC_AUTHORITY: authority }).authority).toBe(authority)
  })

  test.each(['agents.example/', 'agents example', 'agents.example:port', 'ägents.example', 'a@b', ''.padEnd(300, 'a')])(
    'not an authority: %s',
    (authority) => {
      expect(() => readConfig({ ...REQUIRED, SVC_AUTHORITY: authority })).toThrow('SVC_AUTHORITY')
    },
  )
})
