import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AddressRange, clientAddress, type Doubt, parseAddressRange, rateKey } from './client-address.ts'

function ranges(...texts: string[]): AddressRange[] {
  return texts.map((text) => {
    const range = parseAddressRange(text)
    if (range === undefined) throw new Error(`${text} is not an address range`)
    return range
  })
}

const PROXY = '10.0.0.1'

describe('spec 3.16: the peer, or the validated client address behind configured proxies', () => {
  test.each<[string, string, string | undefined, string[], string]>([
    ['no proxies are configured: the header is ignored', '192.0.2.1', '203.0.113.9', [], '192.0.2.1'],
    ['the peer is not a proxy', '192.0.2.1', '203.0.113.9', [PROXY], '192.0.2.1'],
    ['the peer is a proxy that forwards nothing', PROXY, undefined, [PROXY], PROXY],
    ['one proxy', PROXY, '203.0.113.9', [PROXY], '203.0.113.9'],
    ['an entry that the client forged comes before its address', PROXY, '1.1.1.1, 203.0.113.9', [PROXY], '203.0.113.9'],
    ['two proxies', PROXY, '203.0.113.9, 10.0.0.2', ['10.0.0.0/8'], '203.0.113.9'],
    ['a second proxy that is not trusted is the client', PROXY, '203.0.113.9, 10.0.0.2', [PROXY], '10.0.0.2'],
    ['all entries are trusted proxies: the first one counts', PROXY, '10.0.0.3, 10.0.0.2', ['10.0.0.0/8'], '10.0.0.3'],
    ['junk ends the walk at the proxy that passed it on', PROXY, '203.0.113.9, junk', [PROXY], PROXY],
    ['junk before the client is not reached', PROXY, 'junk, 203.0.113.9', [PROXY], '203.0.113.9'],
    ['an empty entry says nothing', PROXY, '203.0.113.9, ', [PROXY], '203.0.113.9'],
    ['empty entries between proxies', PROXY, ',203.0.113.9,,10.0.0.2,', ['10.0.0.0/8'], '203.0.113.9'],
    ['a port', PROXY, '203.0.113.9:4711', [PROXY], '203.0.113.9'],
    ['IPv6 with a port', PROXY, '[2001:db8::9]:4711', [PROXY], '2001:db8::9'],
    ['IPv6 without', PROXY, '2001:db8::9', [PROXY], '2001:db8::9'],
    ['spellings that sockets do not use', PROXY, '127.1', [PROXY], PROXY],
    ['octal digits', PROXY, '0177.0.0.1', [PROXY], PROXY],
    ['a proxy seen through a socket for both families', '::ffff:10.0.0.1', '203.0.113.9', [PROXY], '203.0.113.9'],
    ['a proxy configured in IPv6 form', PROXY, '203.0.113.9', ['::ffff:10.0.0.0/104'], '203.0.113.9'],
    ['IPv6 proxies by block', '2001:db8:1::1', '203.0.113.9', ['2001:db8:1::/48'], '203.0.113.9'],
    ['an address outside the block', '2001:db8:2::1', '203.0.113.9', ['2001:db8:1::/48'], '2001:db8:2::1'],
    ['spaces and tabs around an entry', PROXY, ' \t203.0.113.9 \t', [PROXY], '203.0.113.9'],
    ['an IPv4 address mapped into IPv6, with a port', PROXY, '[::ffff:203.0.113.9]:80', [PROXY], '::ffff:203.0.113.9'],
    ['IPv6 in brackets without a port', PROXY, '[2001:db8::9]', [PROXY], '2001:db8::9'],
    ['a proxy that does not know its client', PROXY, '203.0.113.9, unknown', [PROXY], PROXY],
    ['a proxy whose client came over a Unix socket', PROXY, '203.0.113.9, unix:', [PROXY], PROXY],
    ['an element of RFC 7239', PROXY, '198.51.100.1, for=203.0.113.9', [PROXY], PROXY],
    ['quotation marks', PROXY, '"203.0.113.9"', [PROXY], PROXY],
    ['a port that is no number', PROXY, '203.0.113.9:http', [PROXY], PROXY],
    ['an empty header', PROXY, '', [PROXY], PROXY],
    ['an IPv4 block contains no IPv6 address', '2001:db8::1', '203.0.113.9', ['0.0.0.0/0'], '2001:db8::1'],
  ])('%s', (_, peer, forwardedFor, trusted, client) => {
    expect(clientAddress(peer, forwardedFor, ranges(...trusted)).address).toBe(client)
  })

  test.each<[string, string, string | undefined, Doubt | undefined]>([
    ['a client with a public address', PROXY, '203.0.113.9', undefined],
    ['a client without proxies', '203.0.113.9', undefined, undefined],
    ['a header that a client without proxies invents', '203.0.113.9', '198.51.100.1', undefined],
    ['two trusted proxies', PROXY, '203.0.113.9, 10.0.0.1', undefined],
    ['a proxy that appends to a header that is absent', PROXY, ', 203.0.113.9', undefined],
    ['a proxy that sets an empty header', PROXY, ' , ', 'absent'],
    ['a proxy that sets no header', PROXY, undefined, 'absent'],
    ['a proxy that sets no header, before another one', PROXY, '10.0.0.1', 'absent'],
    ['a proxy that does not know its client', PROXY, 'unknown', 'unreadable'],
    ['a proxy before the trusted one', PROXY, '203.0.113.9, 10.0.0.2', 'private'],
    ['a proxy of the same machine', PROXY, '::1', 'private'],
    ['a proxy before the trusted one, in IPv6', PROXY, '2001:db8::9, fd00::2', 'private'],
    ['a proxy with a public address, or a client that invents', PROXY, '198.51.100.1, 203.0.113.9', 'longer'],
    ['a proxy that is not trusted', '10.0.0.2', '203.0.113.9', 'untrusted'],
    ['a proxy that is not trusted, mapped into IPv6', '::ffff:10.0.0.2', '203.0.113.9', 'untrusted'],
  ])('what can be noticed: %s', (_, peer, forwardedFor, doubt) => {
    expect(clientAddress(peer, forwardedFor, ranges(PROXY)).doubt).toBe(doubt)
  })

  test('property: no header of a client makes the gateway take an address that the client chose', () => {
    const written = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), { maxLength: 5 })
    fc.assert(
      fc.property(written, fc.ipV4(), (entries, client) => {
        fc.pre(!client.startsWith('10.'))
        const header = [...entries, client].join(', ')
        expect(clientAddress(PROXY, header, ranges('10.0.0.0/8')).address).toBe(client)
      }),
    )
  })

  test.each(['', '10.0.0', '10.0.0.1/33', '10.0.0.1/-1', '::1/129', 'localhost', '10.0.0.1/8/8', '::ffff:10.0.0.0/95'])(
    'not a range: %j',
    (text) => {
      expect(parseAddressRange(text)).toBeUndefined()
    },
  )
})

describe('spec 3.16; ADR 22: requests are counted by client, IPv6 by /64', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['192.0.2.1', '::ffff:c000:201', true],
    ['2001:db8:0:1::1', '2001:db8:0:1:ffff:ffff:ffff:ffff', true],
    ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
    ['2001:DB8::1', '2001:db8:0::2', true],
    ['fe80::1%eth0', 'fe80::1', true],
    ['', 'junk', true],
    ['', '0.0.0.0', false],
  ])('%s and %s are one client: %s', (a, b, same) => {
    expect(rateKey(a) === rateKey(b)).toBe(same)
  })
})
