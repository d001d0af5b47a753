/** The whole local stack, and NATS with the configuration of a deployment, in a network without IPv4. */
import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { lacks } from '../../support/run/lacks.ts'

const PROGRAM = fileURLToPath(new URL('ipv6-only.ts', import.meta.url))
/** A network of its own, in which the loopback interface has ::1 and nothing else. Its processes end with it. */
const ENTER = [
  '--net',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  'sh',
  '-ec',
  'ip link set lo up; ip -4 address flush dev lo; ip -6 address show dev lo | grep -q ::1; exec "$@"',
  'sh',
]
const canEnter = spawnSync('unshare', [...ENTER, 'true']).status === 0
const reason = canEnter
  ? undefined
  : 'a network of their own needs Linux, root, `unshare` and `ip` (apt-get install iproute2)'

test.skipIf(lacks(reason))(
  'in a network without IPv4, agents register, send, follow a stream and read an inbox',
  async () => {
    const { stdout } = await promisify(execFile)('unshare', [...ENTER, process.execPath, PROGRAM], {
      timeout: 170_000,
      killSignal: 'SIGKILL',
    })
    expect(stdout.trim().split('\n')).toEqual([
      'no 127.0.0.1',
      'stream: hello',
      'inbox: hello',
      'metrics of 7 processes',
      'client ::1',
      'NATS of a deployment answers at ::1',
    ])
  },
)
