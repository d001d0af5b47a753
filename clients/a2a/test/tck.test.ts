/** Asks a sidecar, with raw requests, for what A2A's kit asks of a server: docs/guides/a2a-conformance.md. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Binding } from './tck/bindings.ts'
import type { Case } from './tck/case.ts'
import { ACCESS_CASES } from './tck/cases/access.ts'
import { CARD_CASES } from './tck/cases/card.ts'
import { CORE_CASES } from './tck/cases/core.ts'
import { DATA_CASES } from './tck/cases/data.ts'
import { PUSH_CASES } from './tck/cases/pushes.ts'
import { STREAM_CASES } from './tck/cases/streams.ts'
import { TASK_CASES } from './tck/cases/tasks.ts'
import { WIRE_CASES } from './tck/cases/wire.ts'
import { startWorld, type World } from './tck/world.ts'

/** By the name of their file in `tck/cases`. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  core: CORE_CASES,
  tasks: TASK_CASES,
  data: DATA_CASES,
  streams: STREAM_CASES,
  pushes: PUSH_CASES,
  wire: WIRE_CASES,
  access: ACCESS_CASES,
  card: CARD_CASES,
}
/** Of the TCK. */
const REQUIREMENTS = 129
const BINDINGS: readonly Binding['name'][] = ['JSON-RPC', 'HTTP+JSON']

describe('a sidecar', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
  })

  describe.each(BINDINGS)('%s', (name) => {
    for (const { ids, title, binding, fails, run } of Object.values(CASES).flat()) {
      if (binding !== undefined && binding !== name) continue
      const isFor = ids.filter((id) => !id.startsWith(name === 'JSON-RPC' ? 'HTTP_JSON' : 'JSONRPC'))
      const attempt = fails === undefined ? test : test.fails
      const reason = fails === undefined ? '' : ` (not so: ${fails})`
      attempt(`${isFor.join(', ')}: ${title}${reason}`, async () => {
        await run(world.bindingsOf(world.bob).find((one) => one.name === name) as Binding, world)
      })
    }
  })
})

/** `| CORE-SEND-001 | MUST | … | pass | [core](…) |` */
const ROW = /^\| (\S+-\S+) +\| (?:MUST|SHOULD|MAY) +\| [^|]* \| (pass|fail|not applicable)[^|]* \| ([^|]*) \|$/gm

test('the page has the result of each requirement, and where its test is', () => {
  const page = readFileSync(new URL('../../../docs/guides/a2a-conformance.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(ROW)].map(([, id = '', result, tests = '']) => {
    const files = [...tests.matchAll(/\[(\w+)\]/g)].map(([, file]) => file)
    return [id, { result, files }] as const
  })
  const tested: Record<string, { result: string; files: string[] }> = {}
  for (const [file, cases] of Object.entries(CASES))
    for (const { ids, fails } of cases)
      for (const id of ids) {
        const { result, files } = tested[id] ?? { result: 'pass', files: [] }
        tested[id] = {
          result: fails === undefined ? result : 'fail',
          files: files.includes(file) ? files : [...files, file],
        }
      }
  expect(rows.length).toBe(REQUIREMENTS)
  expect(rows.filter(([, { result, files }]) => result === 'not applicable' && files.length > 0)).toEqual([])
  expect(Object.fromEntries(rows.filter(([, { result }]) => result !== 'not applicable'))).toEqual(tested)
})
