/**
 * Every row of IANA's special-purpose address registries (RFC 6890): the block, and whether it is marked "Globally
 * Reachable". A block marked "N/A" counts as not reachable. https://www.iana.org/assignments/iana-ipv4-special-registry
 * and https://www.iana.org/assignments/iana-ipv6-special-registry, as of 2026.
 *
 * ipaddr.js only parses and matches, because its own classes differ from the registries. It has a class for AS112, AMT
 * and ORCHIDv2, which are globally reachable, and none for some blocks that are not.
 */
export const IPV4_SPECIAL_PURPOSE: readonly (readonly [block: string, globallyReachable: boolean])[] = [
  ['0.0.0.0/8', false], // "this network"
  ['0.0.0.0/32', false], // "this host on this network"
  ['10.0.0.0/8', false], // private use
  ['100.64.0.0/10', false], // shared address space
  ['127.0.0.0/8', false], // loopback
  ['169.254.0.0/16', false], // link local
  ['172.16.0.0/12', false], // private use
  ['192.0.0.0/24', false], // IETF protocol assignments
  ['192.0.0.0/29', false], // IPv4 service continuity prefix
  ['192.0.0.8/32', false], // IPv4 dummy address
  ['192.0.0.9/32', true], // port control protocol anycast
  ['192.0.0.10/32', true], // TURN anycast
  ['192.0.0.170/32', false], // NAT64/DNS64 discovery
  ['192.0.0.171/32', false], // NAT64/DNS64 discovery
  ['192.0.2.0/24', false], // documentation (TEST-NET-1)
  ['192.31.196.0/24', true], // AS112-v4
  ['192.52.193.0/24', true], // AMT
  ['192.88.99.0/24', false], // deprecated (6to4 relay anycast): N/A
  ['192.88.99.2/32', false], // 6a44 relay anycast
  ['192.168.0.0/16', false], // private use
  ['192.175.48.0/24', true], // direct delegation AS112 service
  ['198.18.0.0/15', false], // benchmarking
  ['198.51.100.0/24', false], // documentation (TEST-NET-2)
  ['203.0.113.0/24', false], // documentation (TEST-NET-3)
  ['240.0.0.0/4', false], // reserved
  ['255.255.255.255/32', false], // limited broadcast
]

export const IPV6_SPECIAL_PURPOSE: readonly (readonly [block: string, globallyReachable: boolean])[] = [
  ['::1/128', false], // loopback
  ['::/128', false], // unspecified
  ['::ffff:0:0/96', false], // IPv4-mapped
  ['64:ff9b::/96', true], // IPv4-IPv6 translation: as reachable as the IPv4 address in it
  ['64:ff9b:1::/48', false], // IPv4-IPv6 translation, local use
  ['100::/64', false], // discard only
  ['100:0:0:1::/64', false], // dummy prefix
  ['2001::/23', false], // IETF protocol assignments
  ['2001::/32', false], // Teredo: N/A
  ['2001:1::1/128', true], // port control protocol anycast
  ['2001:1::2/128', true], // TURN anycast
  ['2001:1::3/128', true], // DNS-SD service registration protocol anycast
  ['2001:2::/48', false], // benchmarking
  ['2001:3::/32', true], // AMT
  ['2001:4:112::/48', true], // AS112-v6
  ['2001:10::/28', false], // deprecated (ORCHID): N/A
  ['2001:20::/28', true], // ORCHIDv2
  ['2001:30::/28', true], // drone remote identification entity tags
  ['2001:db8::/32', false], // documentation
  ['2002::/16', false], // 6to4: N/A
  ['2620:4f:8000::/48', true], // direct delegation AS112 service
  ['3fff::/20', false], // documentation
  ['5f00::/16', false], // segment routing (SRv6) SIDs
  ['fc00::/7', false], // unique local
  ['fe80::/10', false], // link-local unicast
]
