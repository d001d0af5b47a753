/** Runs deploy/nats/cluster.conf on a real server. */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNatsServer } from '@svc/local/engines/binaries.ts'
import { natsEnvironment } from '@svc/local/engines/nats.ts'
import { deriveSecrets } from '@svc/local/engines/secrets.ts'
import { startChild } from '@svc/processes/child.ts'
import { markOf } from '@svc/processes/marks.ts'
import { expect, test } from 'vitest'
import { findTestRun, takePorts } from '../../support/engines/engines.ts'
import { eventually } from '../../support/eventually.ts'

const CONFIG = fileURLToPath(new URL('../../../deploy/nats', import.meta.url))
const OF_COMPONENT = fileURLToPath(new URL('../../../deploy/kubernetes/components/nats', import.meta.url))

test('a server of a cluster stores as much as the manifest says, and loads new permissions while it runs', async () => {
  const { folder, mark } = await findTestRun()
  const title = markOf(mark, 'nats-cluster')
  const own = join(folder, 'nats-cluster')
  cpSync(CONFIG, own, { recursive: true })
  copyFileSync(join(OF_COMPONENT, 'storage.conf'), join(own, 'storage.conf'))
  const change = (file: string, from: RegExp, to: string): void => {
    const text = readFileSync(join(own, file), 'utf8')
    expect(text).toMatch(from)
    writeFileSync(join(own, file), text.replaceAll(from, to))
  }
  for (const port of ['4222', '8222', '6222']) {
    change('cluster.conf', new RegExp(`"0\\.0\\.0\\.0:${port}"`, 'g'), `"127.0.0.1:${await takePorts()}"`)
  }
  change('cluster.conf', /"\/data"/g, `"${join(own, 'data')}"`)

  const lines: string[] = []
  const server = startChild({
    name: 'nats-cluster',
    command: await findNatsServer(),
    // The file name marks the process as part of this run.
    args: ['--config', join(own, 'cluster.conf'), '--pid', join(own, `${title}.pid`)],
    env: {
      ...natsEnvironment(deriveSecrets('cluster').natsPasswords),
      SVC_NATS_SERVER_NAME: 'nats-0',
      SVC_NATS_ROUTE_PASSWORD: 'route',
      SVC_NATS_MAX_FILE_STORE: '8053063680',
      SVC_NATS_ROUTES: '["nats://route:route@127.0.0.1:1"]',
    },
    onLine: (line) => lines.push(line),
  })
  try {
    await eventually(() => lines.some((line) => line.includes('Listening for route connections')))
    expect(lines.join('\n')).toMatch(/Max Memory: +0 B[\s\S]*Max Storage: +7\.50 GB/)
    change('users.conf', /_INBOX_admin/g, '_INBOX_operator')
    server.kill('SIGHUP')
    await eventually(() => lines.some((line) => /eload/.test(line) && /\[(ERR|INF)\].*configuration/.test(line)))
    expect(lines.filter((line) => line.includes('Failed to reload'))).toEqual([])
    expect(lines.some((line) => line.includes('Reloaded: accounts'))).toBe(true)
  } finally {
    await server.stop()
  }
})
