import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test } from 'vitest'
import { IPV4_SPECIAL_PURPOSE, IPV6_SPECIAL_PURPOSE } from './special-purpose.ts'
import { parseWebhookUrl } from './webhook-url.ts'

const NONE: ReadonlySet<string> = new Set()

function codeOf(text: string, exempt = NONE): string {
  try {
    parseWebhookUrl(text, exempt)
    return 'ok'
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}

describe('spec 10.2: valid webhook URLs', () => {
  test.each([
    'https://example.com',
    'https://example.com/',
    'https://example.com:443/hook?a=b&c=%20',
    'HTTPS://EXAMPLE.COM/Hook',
    'https://sub.example.com./hook',
    'https://example.com:/',
    'https://example.com/a@b?c@d:80/%zz',
    "https://example.com//a/../%2e%2E/'(x)[]?",
    'https://xn--bcher-kva.example/',
    'https://8.8.8.8/',
    'https://[2606:4700:4700::1111]/',
    // A name may be set even if it resolves to an address that is not public. The delivery then refuses to connect.
    'https://localhost/',
    'https://metadata.google.internal/',
  ])('%s', (text) => {
    expect(codeOf(text)).toBe('ok')
  })

  test.each([
    ['not https', 'http://example.com/'],
    ['not https', 'wss://example.com/'],
    ['not https', 'ftp://example.com/'],
    ['no URL', ''],
    ['no URL', 'example.com'],
    ['no URL', '//example.com/'],
    ['no URL', 'https://'],
    ['no URL', 'https:///hook'],
    ['no URL', 'https:example.com'],
    ['another port', 'https://example.com:8443/'],
    ['another port', 'https://example.com:80/'],
    ['another port', 'https://example.com:0/'],
    ['no port', 'https://example.com:65536/'],
    ['credentials', 'https://user@example.com/'],
    ['credentials', 'https://user:password@example.com/'],
    ['empty credentials', 'https://@example.com/'],
    ['empty credentials', 'https://:@example.com/'],
    ['a fragment', 'https://example.com/#top'],
    ['an empty fragment', 'https://example.com/#'],
    ['white space', ' https://example.com/'],
    ['white space', 'https://example.com/ '],
    ['a line feed', 'https://exam\nple.com/'],
    ['a tab', 'https://exam\tple.com/'],
    ['a backslash', 'https:\\\\example.com\\'],
    ['a backslash', 'https://example.com\\@10.0.0.1/'],
    ['other than ASCII', 'https://bücher.example/'],
    ['digits of another width', 'https://１２７.0.0.1/'],
    ['a character of no URL', 'https://example.com/a|b'],
    ['a character of no URL', 'https://example.com/{a}'],
    ['a character of no URL', 'https://example.com/a?"b"'],
    ['a backslash', 'https://example.com/a\\b'],
    ['a backslash', 'https://example.com?\\@10.0.0.1/'],
    ['NUL', 'https://example.com/\u0000'],
    ['a tab before the path', 'https://example.com\t/'],
    ['a carriage return', 'https://example.com/\r\nHost: x'],
    ['a host in percent-encoding', 'https://ex%61mple.com/'],
    ['an encoded delimiter in the host', 'https://example.com%2f@10.0.0.1/'],
    ['an encoded delimiter in the host', 'https://example.com%40evil.example/'],
    ['an empty part in the host', 'https://example..com/'],
    ['an empty part in the host', 'https://example.com../'],
    ['an empty part in the host', 'https://.example.com/'],
    ['no host', 'https://./'],
    ['no host', 'https://:443/'],
    ['no host', 'https://?@example.com/'],
    ['an address with two trailing dots', 'https://127.0.0.1../'],
    ['a colon too many', 'https://example.com:443:443/'],
    ['an address without brackets', 'https://2606:4700:4700::1111/'],
    ['a zone', 'https://[fe80::1%25eth0]/'],
    ['too long', `https://example.com/${'a'.repeat(2_048)}`],
  ])('%s: %j', (_, text) => {
    expect(codeOf(text)).toBe('invalid_webhook_url')
  })
})

test.each([
  ['https://example.com', 'example.com', '/'],
  ['https://example.com/', 'example.com', '/'],
  ['https://example.com?', 'example.com', '/?'],
  ['https://example.com?a=b', 'example.com', '/?a=b'],
  ['https://example.com/?@10.0.0.1/', 'example.com', '/?@10.0.0.1/'],
  ['https://example.com/x/%2e/y', 'example.com', '/x/%2e/y'],
  ['https://example.com/./a/../b//%2E%2E/%2f?', 'example.com', '/./a/../b//%2E%2E/%2f?'],
  ["https://example.com/'?q='x'&%zz", 'example.com', "/'?q='x'&%zz"],
  ['https://example.com//evil.example/x', 'example.com', '//evil.example/x'],
  ['https://Example.COM.:443/A', 'example.com', '/A'],
  ['https://XN--BCHER-KVA.example./', 'xn--bcher-kva.example', '/'],
  ['https://[2606:4700:4700:0::1111]/a', '2606:4700:4700::1111', '/a'],
])('spec 10.5: of %s the host is %s, and the path stays as it was written: %s', (text, host, path) => {
  expect(parseWebhookUrl(text, NONE)).toEqual({ host, port: 443, path, exempt: false })
})

describe('spec 10.2, 10.3: literal addresses, in every spelling', () => {
  const literals = [
    ...IPV4_SPECIAL_PURPOSE.filter(([, reachable]) => !reachable).map(([block]) => block.split('/')[0] ?? ''),
    ...IPV6_SPECIAL_PURPOSE.filter(([, reachable]) => !reachable).map(([block]) => `[${block.split('/')[0]}]`),
  ]
  test.each(literals)('%s', (host) => {
    expect(codeOf(`https://${host}/`)).toBe('invalid_webhook_url')
  })

  test.each([
    ['decimal', '2130706433'],
    ['octal', '0177.0.0.1'],
    ['octal as one number', '017700000001'],
    ['hexadecimal', '0x7f.0.0.1'],
    ['hexadecimal as one number', '0x7f000001'],
    ['hexadecimal in capitals', '0X7F000001'],
    ['mixed', '0x7f.0.1'],
    ['shortened', '127.1'],
    ['with a trailing dot', '127.0.0.1.'],
    ['percent-encoded', '%31%32%37.0.0.1'],
    ['metadata in decimal', '2852039166'],
    ['metadata in hexadecimal', '0xA9FEA9FE'],
    ['zero', '0'],
    ['IPv4-mapped', '[::ffff:127.0.0.1]'],
    ['IPv4-mapped in full', '[0:0:0:0:0:ffff:7f00:1]'],
    ['NAT64', '[64:ff9b::10.0.0.1]'],
    ['6to4', '[2002:7f00:1::]'],
    ['loopback in full', '[0000:0000:0000:0000:0000:0000:0000:0001]'],
  ])('%s: %s', (_, host) => {
    expect(codeOf(`https://${host}/`)).toBe('invalid_webhook_url')
  })

  test.each(['134744072', '010.010.010.010', '0x08080808', '8.8.8.8.'])('public in another spelling: %s', (host) => {
    expect(parseWebhookUrl(`https://${host}/`, NONE).host).toBe('8.8.8.8')
  })
})

describe('SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS', () => {
  const exempt = new Set(['127.0.0.1:8443', 'localhost:443', '[::1]:9443'])
  test.each([
    ['https://127.0.0.1:8443/hook', 'ok', true],
    ['https://2130706433:8443/hook', 'ok', true],
    ['https://localhost/hook', 'ok', true],
    ['https://[::1]:9443/', 'ok', true],
    ['https://example.com/', 'ok', false],
  ])('%s', (text, code, isExempt) => {
    expect(codeOf(text, exempt)).toBe(code)
    expect(parseWebhookUrl(text, exempt).exempt).toBe(isExempt)
  })

  test.each([
    'http://127.0.0.1:8443/',
    'https://127.0.0.1:8444/',
    'https://127.0.0.2:8443/',
    'https://u@127.0.0.1:8443/',
  ])('exempt only from address and port: %s', (text) => {
    expect(codeOf(text, exempt)).toBe('invalid_webhook_url')
  })
})
