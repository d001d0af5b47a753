import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { lacks } from '@svc/test/support/run/lacks.ts'
import { expect, test } from 'vitest'
import { listenHost, urlHost } from './host.ts'

const MODULE = fileURLToPath(new URL('host.ts', import.meta.url))
/** Prints where a server listens that is configured with `::`. */
const LISTEN = `
  const { listenHost } = await import(${JSON.stringify(MODULE)})
  const server = (await import('node:net')).createServer()
  server.listen(0, listenHost('::'), () => { console.log(server.address().address); server.close() })`

/** Runs a program as on a kernel without IPv6: a seccomp filter lets socket(AF_INET6) fail with EAFNOSUPPORT. */
const WITHOUT_IPV6 = `
import ctypes, os, platform, struct, sys
socket = {'x86_64': 41, 'aarch64': 198}[platform.machine()]
rules = [(0x20, 0, 0, 0), (0x15, 0, 3, socket), (0x20, 0, 0, 16), (0x15, 0, 1, 10), (0x06, 0, 0, 0x50000 | 97), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack('H6xQ', len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program): sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])`

const NO_PYTHON = spawnSync('/usr/bin/python3', ['--version']).status === 0 ? undefined : 'there is no /usr/bin/python3'

test.each([
  ['::', undefined],
  ['0.0.0.0', '0.0.0.0'],
  ['::1', '::1'],
  ['127.0.0.1', '127.0.0.1'],
])('%s listens on %s', (host, passed) => {
  expect(listenHost(host)).toBe(passed)
})

test.skipIf(process.platform !== 'linux' || lacks(NO_PYTHON))(
  'on a kernel without IPv6, :: listens on every IPv4 address',
  () => {
    const command = ['-c', WITHOUT_IPV6, process.execPath, '--input-type=module', '--eval', LISTEN]
    const { stdout, stderr } = spawnSync('/usr/bin/python3', command, { encoding: 'utf8' })
    expect([stdout.trim(), stderr]).toEqual(['0.0.0.0', ''])
  },
)

test.each([
  ['2001:db8::1', '[2001:db8::1]'],
  ['[2001:db8::1]', '[2001:db8::1]'],
  ['192.0.2.1', '192.0.2.1'],
  ['agents.example.org', 'agents.example.org'],
])('%s is %s in a URL', (host, written) => {
  expect(urlHost(host)).toBe(written)
})
