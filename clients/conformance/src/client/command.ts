/** `svc-conformance client`: judges a client through its adapter. */
import { parseArgs } from 'node:util'
import { jsonOf } from '../report/machine.ts'
import { exitCodeOf, explain, lineOf, summaryOf } from '../report/text.ts'
import { listClientCases, runClientSuite } from './suite.ts'

const USAGE = `usage: svc-conformance client --adapter "<command>" [options]

Plays the service for a client, and judges what the client does. The adapter is a small program that drives the client:
it reads requests and writes replies as lines of JSON (docs/guides/conformance-clients.md).

  --adapter "<command>"   such as "python3 adapter.py"; split at spaces
  --only <text>           only cases whose id contains this text
  --explain <case>        run one case, by its whole id, and show its rule, the requests of the client and what was expected
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
  const { explain: explained } = values
  const only = explained === undefined ? values.only : new RegExp(`^${explained}$`)
  if (!listClientCases().some(({ id }) => (only instanceof RegExp ? only.test(id) : id.includes(only ?? ''))))
    throw new Error(`no case is called ${explained ?? values.only}; --list shows all`)
  const isQuiet = values.json === true || explained !== undefined
  const results = await runClientSuite({
    command: values.adapter.split(/\s+/).filter((part) => part !== ''),
    only,
    onResult: (result) => isQuiet || console.log(lineOf(result)),
  })
  if (values.json === true) console.log(jsonOf(results))
  else console.log(explained === undefined ? summaryOf(results) : results.map(explain).join('\n'))
  return exitCodeOf(results)
}
