import { describe, expect, test } from 'vitest'
import { changeDatabaseUrl, parseDatabaseUrl } from './database-url.ts'

const PLAIN = {
  hosts: [{ host: 'h', port: 5432 }],
  user: 'u',
  password: 'p',
  database: 'd',
  sslmode: 'disable',
  sslnegotiation: 'postgres',
  options: undefined,
  applicationName: undefined,
  isPooled: false,
  server: 'h',
  ignored: [],
}

describe('the parts of a URL are what libpq reads', () => {
  test.each<[string, object]>([
    ['postgres://u:p@h/d', {}],
    ['postgresql://u:p@h:1/d?', { hosts: [{ host: 'h', port: 1 }], server: 'h:1' }],
    ['postgres://u:p@h:/d', {}],
    ['postgres://u@h/d', { password: '' }],
    ['postgres://u:@h/d', { password: '' }],
    ['postgres://u:p@h', { database: 'u' }],
    ['postgres://u:p@h/', { database: 'u' }],
    ['postgres://u:p%40%2F%3a%25%23%3F%2c@h/d', { password: 'p@/:%#?,' }],
    ['postgres://u:p@ss#w:rd+@h/d', { password: 'p@ss#w:rd+' }],
    ['postgres://u%2Ex:p@h/d%20e', { user: 'u.x', database: 'd e' }],
    ['postgres://u:p@[::1]:2/d', { hosts: [{ host: '::1', port: 2 }], server: '[::1]:2' }],
    [
      'postgres://u:p@h:1,[::1],i:3/d',
      {
        hosts: [
          { host: 'h', port: 1 },
          { host: '::1', port: 5432 },
          { host: 'i', port: 3 },
        ],
        server: 'h:1,[::1],i:3',
      },
    ],
    ['postgres://?host=h&user=u&password=p&dbname=d', {}],
    ['postgres:///d?host=h&user=u&password=p%2B+', { password: 'p++' }],
    ['postgres://x:y@z:9/e?host=h&port=5432&user=u&password=p&dbname=d', { server: 'h:5432' }],
    [
      'postgres://u:p@/d?host=h,i&port=1',
      {
        hosts: [
          { host: 'h', port: 1 },
          { host: 'i', port: 1 },
        ],
        server: 'h:1,i:1',
      },
    ],
    ['postgres://u:p@h/d?options=endpoint%3Dep-x', { options: 'endpoint=ep-x' }],
    ['postgres://u:p@h/d?options=-c%20work_mem%3D5MB%20-c%20a=b+c', { options: '-c work_mem=5MB -c a=b+c' }],
    ['postgres://u:p@h/d?application_name=mine', { applicationName: 'mine' }],
    ['postgres://u:p@h/d?sslmode=disable', {}],
    ['postgres://u:p@h/d?sslmode=require', { sslmode: 'require' }],
    ['postgres://u:p@h/d?ssl=true', { sslmode: 'require' }],
    ['postgres://u:p@h/d?ssl=true&sslmode=verify-full', { sslmode: 'verify-full' }],
    ['postgres://u:p@h/d?sslrootcert=system', { sslmode: 'verify-full' }],
    ['postgres://u:p@h/d?sslmode=verify-full&sslrootcert=system', { sslmode: 'verify-full' }],
    ['postgres://u:p@h/d?sslmode=require&sslnegotiation=direct', { sslmode: 'require', sslnegotiation: 'direct' }],
    ['postgres://u:p@h/d?target_session_attrs=read-write', {}],
    ['postgres://u:p@h/d?target_session_attrs=primary&pooler=transaction', { isPooled: true }],
    ['postgres://u:p@h/d?pgbouncer=true', { isPooled: true }],
  ])('%s', (text, parts) => {
    expect(parseDatabaseUrl(text)).toEqual({ ...PLAIN, ...parts })
  })
})

describe('another login or database in the same URL', () => {
  test.each([
    ['postgres://u:p@h/d', 'postgres://x:y%40@h/d', 'postgres://u:p@h/e%20f'],
    [
      'postgresql://u:p#s@h:1,[::1]/d?sslmode=require',
      'postgres://x:y%40@h:1,[::1]/d?sslmode=require',
      'postgres://u:p%23s@h:1,[::1]/e%20f?sslmode=require',
    ],
    ['postgres://u@h', 'postgres://x:y%40@h/u', 'postgres://u:@h/e%20f'],
    [
      'postgres:///?host=h&user=u&password=p&%64bname=d&options=-c%20a=b+c',
      'postgres://x:y%40@/d?host=h&options=-c%20a=b+c',
      'postgres://u:p@/e%20f?host=h&options=-c%20a=b+c',
    ],
  ])('%s', (url, withLogin, withDatabase) => {
    expect(changeDatabaseUrl(url, { user: 'x', password: 'y@' })).toBe(withLogin)
    expect(changeDatabaseUrl(url, { database: 'e f' })).toBe(withDatabase)
    expect(parseDatabaseUrl(withDatabase)).toEqual({ ...parseDatabaseUrl(url), database: 'e f' })
  })
})

test.each([
  'connect_timeout=15',
  'client_encoding=utf8',
  'client_encoding=UTF-8',
  'fallback_application_name=x',
  'keepalives=1',
  'keepalives_idle=5',
  'keepalives_interval=5',
  'keepalives_count=5',
  'tcp_user_timeout=1000',
  'replication=false',
  'load_balance_hosts=random',
  'channel_binding=prefer',
  'channel_binding=disable',
  'gssencmode=disable',
  'gssencmode=prefer',
  'krbsrvname=postgres',
  'gsslib=gssapi',
  'gssdelegation=0',
  'sslcompression=0',
  'sslcertmode=disable',
  'sslsni=1',
  'ssl_min_protocol_version=TLSv1.2',
  'ssl_max_protocol_version=TLSv1.3',
  'min_protocol_version=3.0',
  'max_protocol_version=latest',
  'uselibpqcompat=true',
  'supa=base-pooler.x',
  'workaround=supabase-pooler.vercel',
  'schema=public',
])('%s changes nothing, and a line says why', (parameter) => {
  const { ignored, ...parts } = parseDatabaseUrl(`postgres://u:p@h/d?${parameter}`)
  expect({ ...parts, ignored: [] }).toEqual(PLAIN)
  const [name] = parameter.split('=')
  expect(ignored).toEqual([expect.stringMatching(new RegExp(`^${name} changes nothing: `))])
})

describe('a URL that asks for more than processes can do is refused by the name of the parameter, and without its secrets', () => {
  test.each([
    ['sslmode=prefer', 'has sslmode=prefer, which would continue without TLS: write one of'],
    ['sslmode=allow', 'has sslmode=allow, which would continue without TLS'],
    ['sslmode=verify-ca', 'would not check the name of the server'],
    ['sslmode=no-verify', 'which calls it require'],
    ['sslmode=', 'has sslmode=, which is unknown'],
    ['sslmode=REQUIRE', 'has sslmode=REQUIRE, which is unknown'],
    ['sslmode=verify-full&sslmode=disable', 'has sslmode more than once'],
    ['ssl=false', 'has ssl=false, which is unknown: write sslmode'],
    ['ssl=true&sslmode=disable', 'has ssl=true with sslmode=disable'],
    ['sslrootcert=ca.pem', 'NODE_EXTRA_CA_CERTS'],
    ['sslmode=require&sslrootcert=system', 'write sslmode=verify-full'],
    ['sslnegotiation=direct', 'has sslnegotiation=direct without TLS'],
    ['sslmode=require&sslnegotiation=x', 'has sslnegotiation=x, which is unknown'],
    ['sslmode=require&channel_binding=require', 'has channel_binding=require, which is not supported'],
    ['channel_binding=', 'has channel_binding='],
    ['gssencmode=require', 'has gssencmode=require, which is not supported'],
    ['target_session_attrs=any', 'may choose a standby: write read-write'],
    ['target_session_attrs=prefer-standby', 'may choose a standby'],
    ['pooler=session', 'has pooler=session, which is unknown'],
    ['pgbouncer=false', 'has pgbouncer=false, which is unknown'],
    ['client_encoding=LATIN1', 'the encoding is always UTF8'],
    ['replication=database', 'has replication=database, which is not supported'],
    ['schema=mine', 'each service has a schema of its own name'],
    ['connection_limit=1', 'set SVC_DATABASE_POOL'],
    ['pool_timeout=1', 'set SVC_DATABASE_POOL'],
    ['statement_cache_size=0', 'write pooler=transaction'],
    ['ssl_min_protocol_version=TLSv1.3', 'TLS is 1.2 or later'],
    ['sslsni=0', 'has sslsni=0'],
    ['host=/var/run/postgresql', 'names a Unix socket'],
    ['host=@abstract', 'names a Unix socket'],
    ['host=h,i,j&port=1,2', 'has 3 hosts and 2 ports'],
    ['SSLMODE=require', 'has SSLMODE, which is no parameter of Postgres'],
    ['statement_timeout=5', 'has statement_timeout, which is no parameter of Postgres'],
    ['constructor=x', 'has constructor, which is no parameter of Postgres'],
    ['pool=5', 'set SVC_DATABASE_POOL'],
    ['prepareThreshold=0', 'write pooler=transaction'],
    ['sslaccept=strict', 'has sslaccept, which is not supported: write sslmode=verify-full'],
    ['currentSchema=mine', 'each service has a schema of its own name'],
    ['socket_timeout=5', 'has socket_timeout, which is no parameter of Postgres'],
  ])('%s', (parameters, problem) => {
    const parse = (): unknown => parseDatabaseUrl(`postgres://u:hidden@a/svc?${parameters}`)
    expect(parse).toThrow(problem)
    expect(parse).not.toThrow('hidden')
  })

  // Every parameter of libpq 18 that needs a value of its own to be refused.
  test.each([
    'hostaddr passfile service servicefile require_auth scram_client_key scram_server_key oauth_issuer oauth_client_id',
    'oauth_client_secret oauth_scope requirepeer requiressl sslcert sslkey sslpassword sslcrl sslcrldir sslkeylogfile',
  ])('%s', (names) => {
    for (const name of names.split(' '))
      expect(() => parseDatabaseUrl(`postgres://u:p@a/svc?${name}=hidden`)).toThrow(
        new RegExp(`^has ${name}, which is not supported: (?!.*hidden)`),
      )
  })

  test.each([
    ['mysql://u:hidden@a/svc', 'has the scheme mysql://'],
    ['jdbc:postgresql://a/svc?user=u&password=hidden', 'is a URL of JDBC: write postgres://'],
    ['host=a user=u password=hidden', 'is a list of keywords and values: write postgres://'],
    ["password = 'hidden' host = a", 'is a list of keywords and values'],
    ['postgres:a/svc', 'is not a valid URL'],
    ['postgres://u:hid/den@a/svc', 'is not a valid URL: percent-encode special characters'],
    [
      'postgres://u@a/svc?password=x&hidden',
      'has an unknown parameter after the password: if & is a character of the password, write %26',
    ],
    ['postgres://u:hid?den@a/svc', 'is not a valid URL: percent-encode special characters'],
    ['postgres://u:12?den@a/svc', 'is not a valid URL: percent-encode special characters'],
    ['postgres://u:12/den@a/svc?x=y', 'is not a valid URL: percent-encode special characters'],
    ['postgres://u:hidden%@a/svc', 'is not a valid URL: percent-encode special characters'],
    ['postgres://u:hidden%00@a/svc', 'is not a valid URL: percent-encode special characters'],
    ['postgres://u:hidden@a:0/svc', 'is not a valid URL'],
    ['postgres://u:hidden@a:65536/svc', 'is not a valid URL'],
    ['postgres://u:hidden@a b/svc', 'is not a valid URL'],
    ['postgres://u:hidden@::1/svc', 'is not a valid URL'],
    ['postgres://u:hidden@a,/svc', 'has a comma without a host beside it'],
    ['postgres://u:hidden@/svc', 'names no host'],
    ['postgres://u:hidden@%2Fvar%2Frun/svc', 'names a Unix socket'],
    ['postgres://a/svc', 'names no user'],
  ])('%s', (text, problem) => {
    const parse = (): unknown => parseDatabaseUrl(text)
    expect(parse).toThrow(problem)
    expect(parse).not.toThrow(/hidden|den/)
  })
})
