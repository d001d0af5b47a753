/** components/socket-buffers, in a network with its settings. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { lacks } from '../../support/run/lacks.ts'
import { KUBERNETES } from './render.ts'

const PROGRAM = fileURLToPath(new URL('unread-connections.ts', import.meta.url))
const CONNECTIONS = 250
const MIB = 1024 * 1024

const component = readFileSync(join(KUBERNETES, 'components/socket-buffers/kustomization.yaml'), 'utf8')
const settings = [...component.matchAll(/- name: (net\.ipv4\.\w+)\n +value: (\d+ \d+ \d+)/g)]
const commands = settings.map(([, name = '', value]) => `echo '${value}' >/proc/sys/${name.replaceAll('.', '/')}`)
const ENTER = ['--net', 'sh', '-ec', `ip link set lo up; ${commands.join('; ')}; exec "$@"`, 'sh']
const canEnter = spawnSync('unshare', [...ENTER, 'ss', '-V']).status === 0
const reason = canEnter
  ? undefined
  : 'a network of their own needs Linux, root, `unshare`, `ip` and `ss` (apt-get install iproute2)'

test.skipIf(lacks(reason))('250 connections whose clients stop reading hold at most 80 MiB in the kernel', () => {
  expect(settings).toHaveLength(2)
  const { stdout, stderr } = spawnSync('unshare', [...ENTER, process.execPath, PROGRAM, String(CONNECTIONS)], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  // More than nothing: the program does fill the buffers.
  expect(Number(stdout)).toBeGreaterThan(CONNECTIONS * 64 * 1024)
  expect(Number(stdout)).toBeLessThanOrEqual(80 * MIB)
})
