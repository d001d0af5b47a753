/** Runs the program of docs/guides/python.md, with the oldest `cryptography` at hand: the one of Debian. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SealedEnvelope, SignedEnvelope } from '@svc/envelope/envelope.ts'
import { openEnvelope } from '@svc/envelope/seal.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Agent } from '../../support/client/agent.ts'
import { got } from '../../support/client/answers.ts'
import { eventually } from '../../support/eventually.ts'
import { ENVIRONMENT } from '../../support/run/environment.ts'
import { lacks } from '../../support/run/lacks.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

const VECTORS = fileURLToPath(new URL('../../../docs/vectors/', import.meta.url))
const page = readFileSync(new URL('../../../docs/guides/python.md', import.meta.url), 'utf8')
const [, PROGRAM = ''] = /^```python\n([\s\S]*?)^```$/m.exec(page) ?? []
const PYTHON = findPython()
const isSkipped = lacks(
  PYTHON === undefined ? 'no python3 has cryptography (apt-get install python3-cryptography)' : undefined,
)

let h: SharedHarness
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-python-'))
  writeFileSync(join(folder, 'agent.py'), PROGRAM.replace('ACCEPT = False', 'ACCEPT = True'))
  if (PYTHON !== undefined) h = await shareHarness('roomy')
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await h?.[Symbol.asyncDispose]()
})

function findPython(): string | undefined {
  return ['/usr/bin/python3', 'python3'].find((program) => {
    try {
      execFileSync(program, ['-c', 'import cryptography'], { env: ENVIRONMENT, stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

function vectors(name: string) {
  return JSON.parse(readFileSync(join(VECTORS, name), 'utf8'))
}

/** Runs lines after `from agent import *`, and returns the JSON that they print. `V(name)` reads a file of vectors. */
async function python(lines: string): Promise<unknown> {
  const prelude = `from agent import *\nV = lambda name: parse(open(${JSON.stringify(VECTORS)} + name).read())\n`
  const { stdout } = await promisify(execFile)(PYTHON ?? '', ['-B', '-c', prelude + lines], {
    cwd: folder,
    env: { ...ENVIRONMENT, PYTHONUTF8: '1' },
  })
  return JSON.parse(stdout)
}

describe.skipIf(isSkipped)('the program in Python agrees with the vectors', () => {
  test('spec 2.6: canonical JSON, with any number', async () => {
    const numbers = [
      '1e21',
      '1e20',
      '123456789012345678901',
      '1e-6',
      '1e-7',
      '5e-324',
      '1.7976931348623157e308',
      '-0.0',
    ]
    const texts = [...vectors('json.json').cases.map(({ sent }: { sent: string }) => sent), ...numbers]
    const canonical = [
      ...vectors('json.json').cases.map(({ canonical }: { canonical: string }) => canonical),
      ...numbers.map((text) => JSON.stringify(Number(text))),
    ]
    const lines = `print(json.dumps([canonical(parse(text)).decode() for text in json.loads(${JSON.stringify(JSON.stringify(texts))})]))`
    expect(await python(lines)).toEqual(canonical)
  })

  test('spec 2.5: what is no JSON has no canonical form', async () => {
    const lines = `
def refuses(call):
    try:
        call()
    except (ValueError, OverflowError):
        return True
print(json.dumps([refuses(lambda: parse('{"a":1,"a":2}')), refuses(lambda: parse('[NaN]')), refuses(lambda: canonical(float('nan'))),
  refuses(lambda: canonical(float('inf'))), refuses(lambda: canonical(10 ** 400)), refuses(lambda: canonical('\\ud800'))]))`
    expect(await python(lines)).toEqual(Array(6).fill(true))
  })

  test('spec 2.3: agent ids', async () => {
    const { agents } = vectors('agent-ids.json')
    const lines = `print(json.dumps([Key(bytes.fromhex(one['secret_key'])).agent_id for one in V('agent-ids.json')['agents']]))`
    expect(await python(lines)).toEqual(agents.map(({ agent_id }: { agent_id: string }) => agent_id))
  })

  test('spec 3.4: signatures, but for keys of mixed order', async () => {
    const lines = `
def is_good(one):
    try:
        check_signature(*[bytes.fromhex(one[name]) for name in ('public_key', 'signature', 'message')])
        return True
    except (InvalidSignature, ValueError):
        return False
print(json.dumps([one['about'] for one in V('signatures.json')['cases'] if is_good(one) != one['valid']]))`
    expect(await python(lines)).toEqual(['a key of mixed order, and the equation holds without the cofactor'])
  })

  test('spec 6.3, 6.4: signed and sealed envelopes, by id and by address', async () => {
    const { signed, sealed, signed_by_address, sealed_by_address } = vectors('envelopes.json')
    const lines = `
v = V('envelopes.json')
sender, recipient = [Key(bytes.fromhex(v[one]['secret_key'])) for one in ('sender', 'recipient')]
out = []
for name in ('signed', 'signed_by_address'):
    out.append(sender.sign(canonical({key: value for key, value in v[name]['envelope'].items() if key != 'sig'})))
for name in ('sealed', 'sealed_by_address'):
    signed = unseal(v[name]['envelope'], recipient)
    ephemeral = X25519PrivateKey.from_private_bytes(bytes.fromhex(v[name]['ephemeral_secret_key']))
    out += [signed['sig'], seal(signed, recipient.public, ephemeral)]
print(json.dumps(out))`
    expect(await python(lines)).toEqual([
      signed.envelope.sig,
      signed_by_address.envelope.sig,
      sealed.inner_sig,
      sealed.envelope,
      sealed_by_address.inner_sig,
      sealed_by_address.envelope,
    ])
  })

  test('spec 13.5: verdicts', async () => {
    const { cases } = vectors('verdicts.json')
    const lines = `
v, out = V('verdicts.json'), []
class Directory:
    authority = v['authority']
    def call(self, method, target, signed):
        for one in v['agents']:
            if target == '/v2/agents/' + one['name']:
                return {**one, 'pubkey': 'ed25519:' + one['public_key']}
        raise Refusal(404, 'not_found', '', 1)
agent = Agent.__new__(Agent)
agent.service, agent.save = Directory(), lambda: None
for case in v['cases']:
    is_id = '@' not in case['envelope']['from']
    agent.state = {'pins': {one['name']: 'ed25519:' + one['public_key'] for one in v['agents'] if is_id}}
    reader = next(one for one in v['agents'] if one['name'] == case['reader'])
    place = f"{case['reader']}@{v['authority']}" if case['read_from'] == 'inbox' else case['read_from']
    try:
        name, key = agent.sender_of(case['envelope'])
        key = bytes.fromhex(case.get('sender_public_key', key.hex()))
        verify(case['envelope'], Key(bytes.fromhex(reader['secret_key'])), key, place)
        out.append('verified')
    except Unverified as error:
        out.append(str(error))
print(json.dumps(out))`
    expect(await python(lines)).toEqual(cases.map(({ verdict }: { verdict: string }) => verdict))
  })

  test('spec 13.5: the first key of a name is kept, a told id is compared, and an answer must fit the question', async () => {
    const lines = `
import agent as program
agents, out = V('verdicts.json')['agents'], []
answer = {}
class Directory:
    def call(self, *_, **__):
        return answer
reader = Agent.__new__(Agent)
reader.service, reader.save = Directory(), lambda: None
def look_up(name, one, told={}, **changes):
    global answer
    program.TOLD = told
    answer = {'name': one['name'], 'agent_id': one['agent_id'], 'pubkey': 'ed25519:' + one['public_key'], **changes}
    try:
        return reader.key_of(name).hex() == one['public_key']
    except Unverified as error:
        return str(error)
alice, bob, carol = agents
reader.state = {'pins': {}}
out.append(look_up('alice', alice))
out.append(look_up('alice', carol))  # not asked again: alice's first key stays
reader.state = {'pins': {}}
out.append(look_up('alice', bob))
out.append(look_up('alice', alice, agent_id=bob['agent_id']))
out.append(look_up('alice', alice, told={'alice': bob['agent_id']}))
out.append(look_up('../me', alice))
out.append(look_up('alice', alice, told={'alice': alice['agent_id']}))
out.append(look_up('alice', alice, told={'alice': bob['agent_id']}))  # also a key that is kept already
try:
    out.append(reader.sender_of({'from': alice['agent_id']})[0])
except Unverified as error:
    out.append(str(error))
print(json.dumps(out))`
    const expected = [true, false, 'wrong_key', 'wrong_key', 'wrong_key', 'unknown_sender', true]
    expect(await python(lines)).toEqual([...expected, 'wrong_key', 'wrong_key'])
  })

  test('spec 4.3: a request is acknowledged only if its answer was sent, and at a daily limit the answer waits', async () => {
    const lines = `
import agent as program, contextlib
alice, bot = Key(b'1' * 32), Key(b'2' * 32)
request = {'id': 'request-1', 'from': 'alice@x', 'to': 'bot@x', 'type': 'request', 'ts': '2026-11-20T13:40:11Z', 'body': 1}
request['sig'] = alice.sign(canonical(request))
def steps(at=None, status=0, code=''):
    done, refusals = [], [Refusal(status, code, '', 1)]
    class Service:
        authority = 'x'
        def call(self, method, target, value=None, signed=True):
            if target.startswith('/v2/contacts?'):
                return {'contacts': []}
            done.append('ack' if target.endswith('/ack') else target.split('/')[2])
            if done[-1] == at and refusals:
                raise refusals.pop()
    program.time.sleep = lambda _: done.append('waits')
    agent = Agent.__new__(Agent)
    agent.key, agent.address, agent.service, agent.save = bot, 'bot@x', Service(), lambda: None
    agent.state = {'pins': {'alice': 'ed25519:' + alice.public.hex()}}
    with contextlib.redirect_stdout(sys.stderr):
        try:
            agent.receive({'envelope': request})
        except Refusal:
            done.append('ends')
    return ' '.join(done)
print(json.dumps([steps(), *[steps(*case) for case in json.loads(CASES)]]))`
    const cases: [string, number, string, string][] = [
      ['messages', 409, 'id_conflict', 'contacts messages ack'], // it was sent before
      ['messages', 400, 'envelope_timestamp_out_of_range', 'contacts messages contacts messages ack'],
      ['messages', 429, 'introduction_limit_reached', 'contacts messages waits contacts messages ack'],
      ['contacts', 429, 'budget_exhausted', 'contacts waits contacts messages ack'],
      ['messages', 409, 'request_pending', 'contacts messages'],
      ['messages', 403, 'admission_denied', 'contacts messages'],
      ['messages', 503, 'unavailable', 'contacts messages ends'],
      ['messages', 429, 'rate_limited', 'contacts messages ends'],
      ['contacts', 500, 'internal', 'contacts ends'],
    ]
    const given = JSON.stringify(JSON.stringify(cases.map((one) => one.slice(0, 3))))
    const expected = ['contacts messages ack', ...cases.map(([, , , steps]) => steps)]
    expect(await python(`CASES = ${given}\n${lines}`)).toEqual(expected)
  })
})

describe.skipIf(isSkipped)('the program in Python answers', () => {
  /** Starts the program, which registers on its first start. */
  async function start(name: string): Promise<{ child: ChildProcess; bot: Agent; log: () => string }> {
    const child = spawn(PYTHON ?? '', ['-B', 'agent.py', h.place.url, name], {
      cwd: folder,
      env: { ...ENVIRONMENT, PYTHONUTF8: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let log = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (log += chunk))
    await eventually(() => log.includes(' is ') || expect.unreachable(log))
    const seed = Buffer.from(readFileSync(join(folder, `${name}.key`), 'utf8'), 'hex')
    return { child, bot: new Agent(h.place, name, createKeyPair(seed)), log: () => log }
  }

  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  const answersTo = async (agent: Agent): Promise<(SignedEnvelope | SealedEnvelope)[]> => {
    const { body } = await got(agent.get('/v2/inbox?limit=100'))
    return (body.messages as { envelope: SignedEnvelope | SealedEnvelope }[]).map(({ envelope }) => envelope)
  }

  async function opened(envelope: SignedEnvelope | SealedEnvelope, to: Agent, from: Agent): Promise<SignedEnvelope> {
    if ('body_enc' in envelope) return openEnvelope(envelope, to.key.secretKey, from.key.publicKey)
    expect(verifyEnvelope(envelope, from.key.publicKey)).toBe(true)
    return envelope
  }

  test('a signed and a sealed request of strangers, by address, as they were asked', async () => {
    const name = `py-${Date.now().toString(36)}`
    const { child, bot, log } = await start(name)
    try {
      const strangers = await h.agents(2)
      const asked: (SignedEnvelope | SealedEnvelope)[] = []
      for (const [at, stranger] of strangers.entries()) {
        await got(stranger.put(`/v2/contacts/${bot.id}`, { state: 'accepted' }))
        const changes = { from: stranger.address }
        const body = { n: 1.5, text: 'é€😀', big: 1e21 }
        const envelope = at === 0 ? stranger.envelope(bot, body, changes) : await stranger.sealed(bot, body, changes)
        await got(stranger.post('/v2/messages', envelope))
        asked.push(envelope)
        const [answer] = await eventually(async () => {
          const all = await answersTo(stranger)
          return all.length === 1 ? all : expect.unreachable(log())
        })
        if (answer === undefined) throw new Error('no answer')
        expect('body_enc' in answer).toBe(at === 1)
        expect(await opened(answer, stranger, bot)).toMatchObject({
          from: bot.address,
          to: stranger.address,
          type: 'response',
          reply_to: envelope.id,
          body: { you_sent: body },
        })
        await eventually(async () =>
          expect((await got(stranger.get(`/v2/messages/${envelope.id}/receipts`))).body.status).toBe('processed'),
        )
      }
      expect(log()).toContain(`request from ${strangers[0].name} (${strangers[0].id})`)
    } finally {
      await end(child)
    }
  })

  test('a message that does not verify is not answered and not acknowledged, and those behind it are', async () => {
    const name = `py2-${Date.now().toString(36)}`
    const { child, bot, log } = await start(name)
    try {
      const [alice] = await h.agents(1)
      await got(bot.patch('/v2/me', { inbox_policy: 'open' }))
      await got(alice.put(`/v2/contacts/${bot.id}`, { state: 'accepted' }))
      const stranger = alice.envelope(bot, 'who am I?') // nothing finds a key by its id
      const forged = { ...alice.envelope(bot, 'pay', { from: alice.address }), body: 'pay more' }
      const good = alice.envelope(bot, 'hello', { from: alice.address })
      const known = alice.envelope(bot, 'you know me') // the program has the key of this id by now
      for (const envelope of [stranger, forged, good, known]) await got(alice.post('/v2/messages', envelope))
      await eventually(async () => {
        const { body } = await got(bot.get('/v2/inbox?unacked=true'))
        expect(body.messages).toMatchObject([{ envelope: { id: stranger.id } }, { envelope: { id: forged.id } }])
      })
      expect(await answersTo(alice)).toMatchObject([
        { reply_to: good.id, body: { you_sent: 'hello' } },
        { reply_to: known.id, body: { you_sent: 'you know me' } },
      ])
      expect(log()).toContain(`message ${stranger.id} is not verified: unknown_sender`)
      expect(log()).toContain(`message ${forged.id} is not verified: bad_signature`)
    } finally {
      await end(child)
    }
  })

  test('killed at random, it answers each request exactly once', { timeout: 240_000 }, async () => {
    const name = `py3-${Date.now().toString(36)}`
    const first = await start(name)
    const { bot } = first
    await got(bot.patch('/v2/me', { inbox_policy: 'open' }))
    const [alice] = await h.agents(1)
    await got(alice.put(`/v2/contacts/${bot.id}`, { state: 'accepted' }))
    const ids: string[] = []
    let { child } = first
    try {
      for (let round = 0; round < 8; round += 1) {
        for (let n = 0; n < 4; n += 1) {
          const changes = { from: alice.address }
          const envelope = n % 2 === 0 ? alice.envelope(bot, n, changes) : await alice.sealed(bot, n, changes)
          await got(alice.post('/v2/messages', envelope))
          ids.push(envelope.id)
        }
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_200))
        await end(child)
        child = (await start(name)).child
      }
      await eventually(async () => {
        const { body } = await got(bot.get('/v2/inbox?unacked=true'))
        expect(body.messages).toEqual([])
      })
      const answers = await Promise.all((await answersTo(alice)).map((envelope) => opened(envelope, alice, bot)))
      expect(answers.map(({ reply_to }) => reply_to).toSorted()).toEqual(ids.toSorted())
    } finally {
      await end(child)
    }
  })
})
