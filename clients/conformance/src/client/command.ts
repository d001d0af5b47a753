/** `svc-conformance client`: judges a client through its adapter. */
import { parseArgs } from 'node:util'
import { jsonOf } from '../report/machine.ts'
import { explain, lineOf, summaryOf } from '../report/text.ts'
import { listClientCases, runClientSuite } from './suite.ts'

const USAGE = `usage: svc-conformance client --adapter "<command>" [options]

Plays the service for a client, and judges what the client does. The adapter is a small program that drives the client:
it reads requests and writes replies as lines of JSON (docs/guides/conformance-clients.md).

  --adapter "<command>"   such as "python3 adapter.py"; split at spaces
  --only <text>           only cases whose id contains this text
  --explain <case>        run one case, and show its rule, the requests of the client and what was expected
  --list                  list the cases
  --json                  print one JSON document

Exits with 0 if no case failed, with 1 if one did, and with 2 if nothing could be run.`

export async function runClientCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      adapter: { type: 'string' },
      only: { type: 'string' },
      explain: { type: 'string' },
      list: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) {
    console.log(USAGE)
    return 0
  }
  if (values.list === true) {
    for (const { id, spec, level } of listClientCases()) console.log(`${id} (spec ${spec.join(', ')}), ${level}`)
    return 0
  }
  if (values.adapter === undefined)
    throw new Error('--adapter is missing: the command that starts the adapter of the client')
  const isQuiet = values.json === true || values.explain !== undefined
  const results = await runClientSuite({
    command: values.adapter.split(/\s+/).filter((part) => part !== ''),
    only: values.explain ?? values.only,
    onResult: (result) => isQuiet || console.log(lineOf(result)),
  })
  if (results.length === 0) throw new Error(`no case contains ${values.explain ?? values.only}; --list shows all`)
  if (values.explain !== undefined) for (const result of results) console.log(explain(result))
  else console.log(isQuiet ? jsonOf(results) : summaryOf(results))
  return results.some(({ status }) => status === 'failed') ? 1 : 0
}
