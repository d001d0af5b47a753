import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, test, vi } from 'vitest'
import { createLogger } from './logger.ts'

vi.resetModules() // for a registry of its own, see metrics.test.ts
const { startProcessServer } = await import('./process-server.ts')

const options = {
  service: 'test',
  version: '1.2.3',
  metrics: { host: '127.0.0.1', port: 0 },
  logger: createLogger('test', 'silent'),
}

test('live, started and ready differ, from the start to the end of the drain', async () => {
  const server = await startProcessServer(options)
  const url = `http://127.0.0.1:${server.port}`
  const ask = async (): Promise<string> => {
    const answers = ['live', 'started', 'ready'].map((probe) => fetch(`${url}/${probe}`))
    return (await Promise.all(answers)).map(({ status }) => status).join(' ')
  }
  const wrong = { live: [] as string[], ready: [] as string[] }
  const seen = [await ask()]
  server.started({ live: () => wrong.live, ready: async () => wrong.ready })
  seen.push(await ask())
  wrong.ready = ['the database does not answer']
  seen.push(await ask())
  wrong.ready = []
  wrong.live = ['the loop purge is stalled']
  seen.push(await ask())
  wrong.live = []
  server.draining()
  seen.push(await ask())
  const ready = await fetch(`${url}/ready`)
  expect([seen, await ready.text()]).toEqual([
    ['200 503 503', '200 200 200', '200 200 503', '503 200 200', '200 200 503'],
    'draining\n',
  ])
  await server[Symbol.asyncDispose]()
  await expect(ask()).rejects.toThrow('fetch failed')
})

test('a hanging dependency makes the process not ready, in time', async () => {
  await using server = await startProcessServer(options)
  server.started({ live: () => [], ready: () => new Promise(() => {}) })
  const [ready, metrics] = await Promise.all(
    ['ready', 'metrics'].map((path) => fetch(`http://127.0.0.1:${server.port}/${path}`)),
  )
  expect([ready?.status, await ready?.text()]).toEqual([503, 'no answer in time\n'])
  expect(await metrics?.text()).toContain('agentmsg_ready{component="test"} 0')
})

test('the process itself is measured, under the name of its service', async () => {
  await using server = await startProcessServer(options)
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  const text = await answer.text()
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(text).toContain(`agentmsg_build_info{version="1.2.3",node="${process.versions.node}",component="test"} 1`)
  expect(text).toMatch(/^process_resident_memory_bytes\{component="test"\} \d+$/m)
})

test('without a port nothing listens; if the port is taken, the error names its variable', async () => {
  await using none = await startProcessServer({ ...options, metrics: undefined })
  expect(none.port).toBeUndefined()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(startProcessServer({ ...options, metrics: { host: '127.0.0.1', port } })).rejects.toThrow(
    `SVC_METRICS_PORT ${port} on 127.0.0.1 cannot be listened on`,
  )
  other.close()
})
