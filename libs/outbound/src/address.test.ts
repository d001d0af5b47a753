import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { isPublicAddress } from './address.ts'
import { IPV4_SPECIAL_PURPOSE, IPV6_SPECIAL_PURPOSE } from './special-purpose.ts'

const V4_NOT_PUBLIC = IPV4_SPECIAL_PURPOSE.filter(([, reachable]) => !reachable).map(([block]) => block)
const V4_MULTICAST = '224.0.0.0/4'

/** The first and the last address of a block. */
function bordersOf(block: string): string[] {
  const kind = block.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4
  const [first, last] = [
    kind.networkAddressFromCIDR(block),
    block.includes(':') ? lastOfV6(block) : ipaddr.IPv4.broadcastAddressFromCIDR(block),
  ]
  return [first.toString(), last.toString()]
}

function lastOfV6(block: string): ipaddr.IPv6 {
  const [network, bits] = ipaddr.IPv6.parseCIDR(block)
  const bytes = network.toByteArray().map((byte, at) => {
    const free = Math.min(8, Math.max(0, (at + 1) * 8 - bits))
    return byte | (2 ** free - 1)
  })
  return new ipaddr.IPv6(bytes)
}

/** Whether an address is in one of the blocks. */
function isInside(address: string, blocks: readonly string[]): boolean {
  const parsed = ipaddr.parse(address)
  return blocks.some((block) => {
    const [network, bits] = ipaddr.parseCIDR(block)
    return network.kind() === parsed.kind() && parsed.match(network, bits)
  })
}

/**
 * The ways to embed an IPv4 address in an IPv6 address. None of them may reach a target that the IPv4 address itself
 * may not.
 */
const FORMS: readonly (readonly [name: string, form: (v4: ipaddr.IPv4) => string])[] = [
  ['IPv4-mapped', (v4) => `::ffff:${v4}`],
  ['IPv4-mapped in hexadecimal', (v4) => `::ffff:${hex(v4)}`],
  ['IPv4-compatible', (v4) => `::${v4}`],
  ['IPv4-translated (RFC 2765)', (v4) => `::ffff:0:${v4}`],
  ['NAT64', (v4) => `64:ff9b::${v4}`],
  ['NAT64 of local use', (v4) => `64:ff9b:1::${v4}`],
  ['6to4', (v4) => `2002:${hex(v4)}::1`],
  ['Teredo server', (v4) => `2001:0:${hex(v4)}::1`],
  ['Teredo client', (v4) => `2001:0:808:808:0:ffff:${hex(inverted(v4))}`],
  ['ISATAP', (v4) => `2606:4700:1:1:0:5efe:${hex(v4)}`],
  ['ISATAP of a global address', (v4) => `2606:4700:1:1:200:5efe:${hex(v4)}`],
]

function hex(v4: ipaddr.IPv4): string {
  const [a = 0, b = 0, c = 0, d = 0] = v4.octets
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

function inverted(v4: ipaddr.IPv4): ipaddr.IPv4 {
  return new ipaddr.IPv4(v4.octets.map((octet) => 255 - octet))
}

describe('spec 10.3: every block of the IANA special-purpose registries', () => {
  test.each([...IPV4_SPECIAL_PURPOSE, ...IPV6_SPECIAL_PURPOSE])('%s globally reachable: %s', (block, reachable) => {
    // 64:ff9b::/96 is as reachable as the IPv4 address in it: at its borders those are 0.0.0.0 and 255.255.255.255.
    const expected = block === '64:ff9b::/96' ? false : reachable
    for (const address of bordersOf(block)) {
      // A smaller block inside may have another verdict.
      const smaller = [...IPV4_SPECIAL_PURPOSE, ...IPV6_SPECIAL_PURPOSE].filter(
        ([other]) => Number(other.split('/')[1]) > Number(block.split('/')[1]) && isInside(address, [other]),
      )
      if (smaller.length === 0) expect(`${address} ${isPublicAddress(address)}`).toBe(`${address} ${expected}`)
    }
  })

  test('the registries have the rows of 2026', () => {
    expect([IPV4_SPECIAL_PURPOSE.length, IPV6_SPECIAL_PURPOSE.length]).toEqual([26, 25])
  })
})

describe('spec 10.3: IPv4-mapped, NAT64, 6to4, Teredo and other forms of private addresses', () => {
  const blocks = [...V4_NOT_PUBLIC, V4_MULTICAST]
  test.each(FORMS)('%s', (_, form) => {
    for (const block of blocks) {
      for (const address of bordersOf(block)) {
        const spelled = form(ipaddr.IPv4.parse(address))
        expect(`${spelled} ${isPublicAddress(spelled)}`).toBe(`${spelled} false`)
      }
    }
  })

  test.each([
    ['NAT64', '64:ff9b::8.8.8.8', true],
    ['NAT64 in hexadecimal', '64:ff9b::808:808', true],
    ['ISATAP', '2606:4700:1:1:0:5efe:808:808', true],
    ['IPv4-mapped, which the registry does not mark', '::ffff:8.8.8.8', false],
    ['6to4, which the registry does not mark', '2002:808:808::1', false],
    ['Teredo, which the registry does not mark', '2001:0:808:808::1', false],
  ])('%s of a public address', (_, address, expected) => {
    expect(isPublicAddress(address)).toBe(expected)
  })
})

describe('spec 10.3: unassigned addresses are not public either', () => {
  test.each([
    '224.0.0.1',
    '239.255.255.255',
    'ff02::1',
    'ff0e::1',
    'fec0::1',
    '4000::1',
    '1fff::1',
    'e000::1',
    '::2',
    '200::1',
    'fe80::1%eth0',
    '2606:4700::1%1',
  ])('%s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})

describe('public addresses, as a control', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.0.9',
    '192.0.0.10',
    '192.0.1.0',
    '192.31.196.1',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2000::1',
    '2001:200::1',
    '2001:1::1',
    '2001:20::1',
    '2001:db7:ffff::1',
    '2001:db9::1',
    '2003::1',
    '2606:4700:4700::1111',
    '2620:4f:8000::1',
    '2a00:1450:4001:81b::200e',
    '3ffe::1',
    '3fff:1000::1',
  ])('%s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test('any IPv4 address outside every block is public', () => {
    const anywhere = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((octets) => octets.join('.'))
    fc.assert(
      fc.property(anywhere, (address) => {
        const special = isInside(address, [...IPV4_SPECIAL_PURPOSE.map(([block]) => block), V4_MULTICAST])
        fc.pre(!special)
        expect(isPublicAddress(address)).toBe(true)
      }),
    )
  })
})

describe('ADR 22: other spellings of addresses are left to the URL parser and refused here', () => {
  test.each([
    '',
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '8.8.8.8 ',
    '8.8.8',
    '[::1]',
    '::1/128',
    'localhost',
  ])('%j', (text) => {
    expect(isPublicAddress(text)).toBe(false)
  })
})
