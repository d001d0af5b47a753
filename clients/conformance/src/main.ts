#!/usr/bin/env node
/** `svc-conformance`: judges a server of this protocol from outside, by HTTP alone. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Case } from './cases/case.ts'
import { runClientCommand } from './client/command.ts'
import { findServer } from './http/server.ts'
import { jsonOf, junitOf } from './report/machine.ts'
import { exitCodeOf, explain, lineOf, summaryOf } from './report/text.ts'
import { createOperator } from './run/operator.ts'
import { type Receiver, startReceiver } from './run/receiver.ts'
import { allCases, runCase, runCases, type Setting, whyNot } from './run/suite.ts'

const USAGE = `usage: svc-conformance --url <base URL> [options]
       svc-conformance client --adapter "<command>" [options]

Runs the conformance cases of the signed agent messaging protocol against a server, over HTTP alone.

  --url <url>                 base URL of the server; give it again for another gateway of the same service
  --group <text>              only cases whose id begins with this text, such as messages or boards/roles; may be repeated
  --explain <case>            run one case, by its whole id, and show its rule, its requests as curl, what came, and what was
                              expected
  --list                      list the cases and what each of them needs, and send nothing
  --json                      print one JSON document
  --junit <file>              also write a report for CI systems
  --at-once <n>               cases that run side by side (default 8)
  --pace <n>                  at most this many requests a second (default 80; 0 for no limit)

Some cases need what only you can set. Without these options they are skipped, and the report says what is missing:

  --admin "<command>"         the operator's command, to which "grant <agent id> <units> <reference> --reason <text>",
                              "suspend", "resume", "takedown", "restore" and "erase" are added
  --webhook-url <url>         the URL at which the server reaches this machine
  --webhook-port <port>       port on which the runner receives deliveries
  --webhook-tls <cert,key>    PEM files; without them the receiver speaks plain HTTP, so a proxy must end TLS
  --retention-seconds <n>     the retention period of the server, if it is at most 30 seconds
  --short-backoff             the server tries a webhook delivery again within a second
  --rates                     exhaust the request rates too, of a server that has the defaults of spec 3.15

Exits with 0 if no case failed, with 1 if one did, and with 2 if nothing could be run.`

try {
  const [command, ...rest] = process.argv.slice(2)
  if (Number.parseInt(process.versions.node, 10) < 22)
    throw new Error(`Node 22 or later is needed, but this is Node ${process.versions.node}`)
  process.exitCode = command === 'client' ? await runClientCommand(rest) : await main(process.argv.slice(2))
} catch (error) {
  console.error(`svc-conformance: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 2
}

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: 'string', multiple: true },
      group: { type: 'string', multiple: true },
      explain: { type: 'string' },
      list: { type: 'boolean' },
      json: { type: 'boolean' },
      junit: { type: 'string' },
      'at-once': { type: 'string', default: '8' },
      pace: { type: 'string', default: '80' },
      admin: { type: 'string' },
      'webhook-url': { type: 'string' },
      'webhook-port': { type: 'string' },
      'webhook-tls': { type: 'string' },
      'retention-seconds': { type: 'string' },
      'short-backoff': { type: 'boolean' },
      rates: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true || args.length === 0) {
    console.log(USAGE)
    return args.length === 0 ? 2 : 0
  }
  const groups = values.group ?? ['']
  const cases = allCases().filter(({ id }) => groups.some((group) => id.startsWith(group)))
  if (cases.length === 0) throw new Error(`no case begins with ${groups.join(' or ')}; --list shows all`)
  if (values.list === true) {
    for (const { id, spec, needs } of cases)
      console.log(`${id} (spec ${spec.join(', ')})${needs.length === 0 ? '' : `; needs ${needs.join(', ')}`}`)
    return 0
  }
  const perSecond = numberOf(values.pace, '--pace') || Number.POSITIVE_INFINITY
  if (values.url === undefined) throw new Error('--url is missing: the base URL of the server')
  const explained = cases.find(({ id }) => id === values.explain)
  if (values.explain !== undefined && explained === undefined)
    throw new Error(`no case is called ${values.explain}; --list shows all, and --explain takes the whole id`)
  // A file that cannot be written should not cost a whole run.
  if (values.junit !== undefined) writeFileSync(values.junit, '')
  await using receiver = await receiverOf(values)
  const server = await findServer(values.url.map(urlOf), { perSecond })
  const setting: Setting = {
    server,
    receiver,
    operator: values.admin === undefined ? undefined : createOperator(values.admin),
    retentionSeconds:
      values['retention-seconds'] === undefined
        ? undefined
        : numberOf(values['retention-seconds'], '--retention-seconds'),
    shortBackoff: values['short-backoff'] === true,
    rates: values.rates === true,
  }
  if (explained !== undefined) {
    const result = await runCase(explained, setting)
    console.log(values.json === true ? jsonOf([result]) : explain(result))
    return exitCodeOf([result])
  }
  const isQuiet = values.json === true
  const atOnce = numberOf(values['at-once'], '--at-once')
  if (atOnce < 1) throw new Error('--at-once is 0, but must be at least 1')
  if (!isQuiet) console.log(planOf(cases, setting))
  const results = await runCases(cases, setting, {
    atOnce,
    onResult: (result) => isQuiet || console.log(lineOf(result)),
  })
  console.log(isQuiet ? jsonOf(results) : summaryOf(results))
  if (values.junit !== undefined) writeFileSync(values.junit, junitOf(results))
  return exitCodeOf(results)
}

/** What the run will do to the server, before it does it. */
function planOf(cases: readonly Case[], setting: Setting): string {
  const { server } = setting
  const able = cases.filter((one) => whyNot(one, setting) === undefined)
  const shared = new Map(able.flatMap(({ shared }) => (shared === undefined ? [] : [[shared.by, shared.agents]])))
  const agents = [...able.map((one) => one.agents), ...shared.values()].reduce((sum, one) => sum + one, 0)
  return [
    `The manifest at ${server.urls[0]} names the authority ${server.authority}.`,
    `This run does ${able.length} of ${cases.length} cases. It registers some ${agents} agents for ever, with names that begin with "c-",`,
    'sends messages between them, creates boards, and revokes some of the agents. It touches nothing of others.',
    `Each registration needs a proof of work of ${server.difficulty} bits. At the default rate of one challenge or registration a second`,
    `they take up to ${Math.ceil((agents * 2) / 60)} min, and less if the server allows more.`,
    '',
  ].join('\n')
}

async function receiverOf(values: {
  'webhook-url'?: string
  'webhook-port'?: string
  'webhook-tls'?: string
}): Promise<Receiver | undefined> {
  const { 'webhook-url': url, 'webhook-port': port, 'webhook-tls': tls } = values
  if (url === undefined && port === undefined) return undefined
  if (url === undefined || port === undefined) throw new Error('--webhook-url and --webhook-port belong together')
  const [cert = '', key = ''] = tls?.split(',').map((file) => readFileSync(file, 'utf8')) ?? []
  return startReceiver({
    url: urlOf(url),
    port: numberOf(port, '--webhook-port'),
    tls: tls === undefined ? undefined : { cert, key },
  })
}

function urlOf(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error(`${text} is no http or https URL`)
  return text.replace(/\/$/, '')
}

function numberOf(text: string, name: string): number {
  const number = Number(text)
  if (!Number.isFinite(number) || number < 0)
    throw new Error(`${name} is ${text}, but must be a number, and not negative`)
  return number
}
