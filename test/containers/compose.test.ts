/** One machine: deploy/compose in containers, behind a proxy of the machine (docs/operating/deploy.md). */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svc } from '../../clients/cli/test/run.ts'
import { exchange } from '../support/client/raw-http.ts'
import { type EdgeName, startEdge, whyNot } from '../support/engines/edge-proxy.ts'
import { findTestRun } from '../support/engines/engines.ts'
import { eventually } from '../support/eventually.ts'
import { Compose, whyNoCompose } from './compose.ts'
import { buildComposeImages } from './compose-images.ts'
import { Podman } from './podman.ts'
import { whyNoContainers } from './why-not.ts'

const OUTER: readonly EdgeName[] = ['deploy/edge/nginx.conf', 'deploy/edge/haproxy.cfg', 'deploy/edge/Caddyfile']

const missing = (await whyNoContainers()) ?? whyNoCompose()
const title = ['deploy/compose', missing && `skipped: ${missing}`].filter(Boolean).join(', ')

describe.skipIf(missing !== undefined)(title, () => {
  const stack = new AsyncDisposableStack()
  let compose: Compose
  let url: string

  beforeAll(async () => {
    const podman = stack.use(new Podman())
    await buildComposeImages(podman)
    compose = stack.use(await Compose.start(podman))
    url = `http://127.0.0.1:${compose.port}`
  }, 1_800_000)
  afterAll(() => stack.disposeAsync(), 200_000)

  test('the first exchange of README works', async () => {
    const folder = mkdtempSync(join((await findTestRun()).folder, 'compose-'))
    const env = { SVC_CONFIG_DIR: join(folder, 'config'), SVC_STATE_DIR: join(folder, 'state') }
    const run = async (line: string): Promise<string> => {
      const { exitCode, stdout, stderr } = await svc(line.split(' '), { env })
      expect({ line, exitCode, stderr }).toMatchObject({ exitCode: 0 })
      return stdout
    }
    await run(`init alice --url ${url} --key ${folder}/alice.key`)
    await run(`init bob --url ${url} --key ${folder}/bob.key`)
    await run('contacts accept alice --profile bob')
    await run('send bob --seal sealed --profile alice')
    expect(await run('inbox --open --verify alice --profile bob')).toMatch(/signature verified\]\n *\| sealed/)
    expect(await run('budget --profile alice')).toMatch(/^units used +1 of 100 free/m)
  })

  for (const name of OUTER) {
    const what = `behind ${name} on the machine, each client counts by its own address`
    test.skipIf(whyNot(name) !== undefined)(what, async () => {
      await using edge = await startEdge(name, [compose.port])
      for (const from of ['127.0.0.8', '127.0.0.9']) {
        const headers = { 'X-Forwarded-For': '203.0.113.1, 10.231.0.1' }
        const ask = () => exchange(edge.url, { target: '/v2/health', headers, from })
        // Waits, because some services may still be starting.
        await eventually(async () => expect((await ask()).status).toBe(200))
        expect((await ask()).headers.get('x-svc-client-address')).toBe(from)
      }
    })
  }
})
