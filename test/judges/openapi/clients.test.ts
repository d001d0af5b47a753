/**
 * Clients that others generate from the served `/openapi.json`. What is generated compiles strictly, together with a program that uses
 * it, and two agents talk to each other with it. The programs are in `programs`; only signing and composing come from us.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { signRequest } from '@svc/svc1/sign.ts'
import { beforeAll, expect, test } from 'vitest'
import type { Agent } from '../../support/client/agent.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { type ExpectedFailures, expectOnly } from '../expected.ts'
import { runJudge } from '../run-judge.ts'
import type { Conversation, Party } from './programs/party.ts'
import { type ServedDescription, saveDescription } from './served-description.ts'

const COMPILE_ERRORS: ExpectedFailures = {}

const PROGRAMS = fileURLToPath(new URL('programs', import.meta.url))
/** Generated code is below `test`, so that it finds the packages that it imports. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

let h: SharedHarness
let description: ServedDescription
let folder: string
beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  h = stack.use(await shareHarness('roomy'))
  mkdirSync(CACHE, { recursive: true })
  description = stack.use(await saveDescription(h.place, CACHE))
  folder = description.folder
  cpSync(PROGRAMS, folder, { recursive: true })
  const [types, client] = await Promise.all([
    runJudge('openapi-typescript', [description.path, '-o', join(folder, 'openapi-types.ts')]),
    // It reads the kind of modules from tsconfig.json.
    runJudge('@hey-api/openapi-ts', ['-i', 'openapi.json', '-o', 'hey-api'], { cwd: folder }),
  ])
  expect([types.code, client.code], types.stderr + client.stdout + client.stderr).toEqual([0, 0])
  const started = stack.move()
  return () => started.disposeAsync()
})

test('spec 1.4: generated clients compile strictly', async () => {
  const compiled = promisify(execFile)(process.execPath, [TSC, '-p', folder])
  const { stdout } = await compiled.catch((error: { stdout: string }) => error)
  expectOnly(stdout.match(/^\S.*error TS\d+.*$/gm) ?? [], COMPILE_ERRORS)
})

test.each(['with-openapi-fetch', 'with-hey-api'])('spec 1.4: two agents talk to each other %s', async (program) => {
  const [alice, bob] = await h.agents(2)
  const file = pathToFileURL(join(folder, 'out', `${program}.js`)).href
  const { default: converse } = (await import(file)) as {
    default: (baseUrl: string, alice: Party, bob: Party) => Promise<Conversation>
  }
  expect(await converse(h.place.url, partyOf(alice), partyOf(bob))).toEqual({
    address: bob.address,
    lane: 'inbox',
    received: { text: 'hello' },
    status: 'processed',
    usedUnits: 1,
    boardTitle: 'News',
    refusal: 'not_found',
  })
})

function partyOf(agent: Agent): Party {
  return {
    name: agent.name,
    agentId: agent.id,
    compose: (to, body) => agent.envelope(to, body as never) as ReturnType<Party['compose']>,
    fetch: async (request) => {
      const { method, url } = request
      const { pathname, search } = new URL(url)
      const text = await request.text()
      const body = text === '' ? undefined : text
      const signed = signRequest(agent.key, {
        authority: agent.place.authority,
        method,
        target: pathname + search,
        body: body === undefined ? undefined : Buffer.from(body),
      })
      const headers = { ...Object.fromEntries(request.headers), ...signed }
      return fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
    },
  }
}
