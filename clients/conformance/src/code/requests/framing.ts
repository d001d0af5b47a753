/** Requests that arrive in pieces, and connections that are misused (spec 3.20). */
import { setImmediate as turn } from 'node:timers/promises'
import type { Case, World } from '../../cases/case.ts'
import { check, expectOutcome } from '../../cases/check.ts'
import { outcomeOf } from '../../cases/outcome.ts'
import { headOf, openRaw, type RawConnection } from '../../http/raw.ts'
import { shareAgent } from '../shared.ts'

const BODY = '{"discoverable":false}'
const JSON_TYPE = { 'content-type': 'application/json' }
const CHUNK = `1000\r\n${' '.repeat(4_096)}\r\n`
/** More than 96 KiB. A server answers now. If it also closes the connection (spec 3.9), a client that still sends may lose the answer. */
const TOO_MANY_CHUNKS = 32
/** More than the buffers of both sides hold. */
const ENDLESS_CHUNKS = 64 * 1_024
const MISUSES = ['junk\r\n\r\n', 'POST /v2/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx', 'GET /v2/hea']
const TIMES = 10

const agentOf = shareAgent()

async function expectRaw(connection: RawConnection, outcome: string, what: string): Promise<void> {
  const answers = await connection.answers(1)
  check(answers.map(outcomeOf), [outcome], what)
}

/** Sends a signed body in pieces of one byte. */
async function sendSlowly(world: World, isChunked: boolean): Promise<void> {
  const agent = await agentOf(world)
  const [url = ''] = world.server.urls
  const framing = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': `${BODY.length}` }
  const { headers } = agent.sign('PATCH', '/v2/me', BODY)
  using connection = openRaw(url)
  connection.socket.setNoDelay(true)
  connection.write(headOf(url, 'PATCH /v2/me', { ...headers, ...JSON_TYPE, ...framing }))
  for (const byte of BODY) {
    await turn()
    connection.write(isChunked ? `1\r\n${byte}\r\n` : byte)
  }
  if (isChunked) connection.write('0\r\n\r\n')
  await expectRaw(connection, '200', 'PATCH /v2/me')
}

async function sendWithoutEnd({ server }: World): Promise<void> {
  const [url = ''] = server.urls
  using connection = openRaw(url)
  connection.write(headOf(url, 'PATCH /v2/me', { 'transfer-encoding': 'chunked' }))
  let sent = 0
  for (; sent < ENDLESS_CHUNKS && connection.received === '' && !connection.socket.closed; sent += 1) {
    connection.write(CHUNK)
    if (sent === TOO_MANY_CHUNKS) await connection.answers(1)
    else await turn()
  }
  await expectRaw(connection, '413 body_too_large', 'PATCH /v2/me with an endless body')
}

async function misuseOthers(world: World): Promise<void> {
  const agent = await agentOf(world)
  const [url = ''] = world.server.urls
  using good = openRaw(url)
  const ask = () => good.write(headOf(url, 'GET /v2/me', agent.sign('GET', '/v2/me', undefined).headers))
  ask()
  check((await good.answers(1)).map(outcomeOf), ['200'], 'GET /v2/me')
  const held = MISUSES.map((bytes) => openAndWrite(url, bytes))
  for (let at = 0; at < TIMES; at += 1) {
    for (const bytes of MISUSES) openAndWrite(url, bytes).socket.resetAndDestroy()
  }
  ask()
  check((await good.answers(2)).map(outcomeOf), ['200', '200'], 'GET /v2/me on the connection that was open before')
  await expectOutcome(agent.get('/v2/me'), '200', 'GET /v2/me')
  for (const one of held) one[Symbol.dispose]()
}

function openAndWrite(url: string, bytes: string): RawConnection {
  const connection = openRaw(url)
  connection.write(bytes)
  return connection
}

async function useAbsoluteForm(world: World): Promise<void> {
  const agent = await agentOf(world)
  const [url = ''] = world.server.urls
  using connection = openRaw(url)
  const { headers } = agent.sign('GET', '/v2/me?', undefined)
  connection.write(headOf(url, `GET http://${world.server.authority}/v2/me?`, headers))
  await expectRaw(connection, '200', 'GET of an absolute form')
}

function caseOf(name: string, title: string, spec: string[], run: Case['run']): Case {
  return { id: `requests/framing/${name}`, title: `Framing: ${title}`, spec, needs: [], agents: 0, run }
}

export const FRAMING: readonly Case[] = [
  caseOf('chunks', 'a chunked body is read, whatever the number and size of its chunks', ['3.20'], (world) =>
    sendSlowly(world, true),
  ),
  caseOf('pieces', 'a body that arrives in pieces is read', ['3.20'], (world) => sendSlowly(world, false)),
  caseOf('endless', 'a body without an end is answered, and not read to its end', ['3.9', '3.20'], sendWithoutEnd),
  caseOf('misuse', 'misused connections harm no other connection of the address', ['3.20'], misuseOthers),
  caseOf('absolute-form', 'scheme and authority in the request line are not signed', ['3.3'], useAbsoluteForm),
]
