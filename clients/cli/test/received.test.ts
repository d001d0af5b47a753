import { readFileSync } from 'node:fs'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { parseKey } from '@svc/sdk/keys.ts'
import { describe, expect, test } from 'vitest'
import type { Run } from './run.ts'
import { idOf, startScene } from './scene.ts'

type Scene = Awaited<ReturnType<typeof startScene>>

describe('text of others', () => {
  test('reaches the terminal only as visible text', async () => {
    await using scene = await startScene('alice')
    const attack = '\u001b]0;owned\u0007\u001b[2J\u009b31mred\rover\u202eright\b'
    const id = await idOf(scene.as('alice', 'send alice --json --json-body', { rest: [JSON.stringify({ attack })] }))
    const text = await idOf(scene.as('alice', 'send alice --json', { rest: ['--', `${attack}\nsecond line`] }))
    for (const command of [
      `read ${id}`,
      `read ${text}`,
      'inbox',
      'inbox --json',
      'events',
      'export',
      `read ${id} --json`,
    ]) {
      const { stdout, exitCode } = await scene.as('alice', command)
      expect(exitCode, command).toBe(0)
      expect(stdout, command).toMatch(/^[\n\t -~…]*$/)
    }
    // In JSON the value is unchanged.
    const [document] = (await scene.as('alice', `read ${id} --json`)).documents<{ opened: { body: object } }>()
    expect(document?.opened.body).toEqual({ attack })
    expect((await scene.as('alice', `read ${text}`)).stdout).toContain('\n    | second line\n')
  })

  test('cannot imitate a line of svc', async () => {
    await using scene = await startScene('alice', 'bob')
    await scene.as('bob', 'policy open')
    const imitations = [
      '    [signed, signature verified]',
      '[signed, signature verified]',
      'checked  signed, signature verified',
    ]
    const ids = await Promise.all(
      imitations.map((line) => idOf(scene.as('alice', 'send bob --json --', { rest: [`x\n${line}\n\n${line}`] }))),
    )
    for (const command of ['inbox', ...ids.map((id) => `read ${id}`)]) {
      const lines = (await scene.as('bob', command)).stdout.split('\n')
      const said = lines.filter((line) => /signature verified/.test(line))
      const own = said.filter((line) => !line.startsWith('    | '))
      expect(said.length, command).toBeGreaterThan(own.length)
      // One line for each message.
      expect(own.length, command).toBe(command === 'inbox' ? ids.length : 1)
    }
  })

  test('cannot imitate a line of svc with a line that is wider than the terminal', async () => {
    await using scene = await startScene('alice')
    const columns = 60
    const text = `${'x'.repeat(columns - 6)}    [signed, signature verified]${'漢'.repeat(40)}`
    const id = await idOf(scene.as('alice', 'send alice --json --', { rest: [text] }))
    for (const command of ['inbox', `read ${id}`]) {
      const { stdout } = await scene.as('alice', command, { columns })
      const quoted = stdout.split('\n').filter((line) => line.startsWith('    | '))
      expect(quoted.map((line) => line.slice(6)).join(''), command).toBe(text)
      expect(Math.max(...quoted.map((line) => line.replaceAll('漢', '..').length)), command).toBeLessThanOrEqual(
        columns,
      )
      expect(stdout.match(/^ *\[signed, signature verified/gm)?.length, command).toBe(
        command === 'inbox' ? 1 : undefined,
      )
    }
  })

  test('cannot imitate a line of svc with a line feed in a field of one line', async () => {
    await using scene = await startScene('alice')
    const id = await idOf(scene.as('alice', 'send alice --json', { rest: ['hello'] }))
    const imitation = 'x\nchecked  signed, signature verified'
    scene.service.tamper(id, (envelope) => Object.assign(envelope, { to: imitation, type: imitation }))
    for (const command of ['inbox', `read ${id}`, 'events']) {
      const { stdout, stderr } = await scene.as('alice', command)
      expect(stdout + stderr, command).not.toMatch(/^checked +signed, signature verified/m)
    }
  })

  test.each(['the service', 'a proxy'])('is escaped in an error of %s', async (who) => {
    await using scene = await startScene('alice')
    const error = JSON.stringify({ error: { code: 'forbidden\u001b[2J', message: '\u001b[2J' } })
    scene.service.meet('GET /v2/me', { kind: 'answer', status: 403, body: who === 'a proxy' ? '\u001b[2J' : error })
    const { stderr, exitCode } = await scene.as('alice', 'whoami')
    expect(exitCode).toBe(who === 'a proxy' ? 3 : 1)
    expect(stderr).toMatch(/^[\n -~]+$/)
  })
})

describe('verification', () => {
  test('an altered message is marked in lists and refused by read', async () => {
    await using scene = await startScene('alice', 'bob')
    await scene.as('bob', 'policy open')
    const id = await idOf(scene.as('alice', 'send bob --json', { rest: ['pay 1'] }))
    const sealed = await idOf(scene.as('alice', 'send bob --json --seal', { rest: ['pay 1'] }))
    scene.service.tamper(id, (envelope) => Object.assign(envelope, { body: 'pay 1000' }))
    scene.service.tamper(sealed, (envelope) => Object.assign(envelope, { ts: '2026-01-01T00:00:00Z' }))

    const list = await scene.as('bob', 'inbox --open --verify alice')
    expect(list.exitCode).toBe(0)
    expect(list.stdout.match(/NOT TO BE TRUSTED/g)).toHaveLength(2)
    expect(list.stdout).not.toContain('pay 1000')
    const read = await scene.as('bob', `read ${id} --verify alice`)
    expect(read).toMatchObject({ exitCode: 4, stdout: '', stderr: expect.stringContaining('not signed by') })
    expect(await scene.as('bob', `read ${sealed}`)).toMatchObject({ exitCode: 4, stdout: '' })
    const json = await scene.as('bob', `read ${id} --verify alice --json`)
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'invalid_signature' } })
  })

  test('the sender of a message is verified by its name, and --verify says whom the reader expects', async () => {
    await using scene = await startScene('alice', 'bob')
    const id = await idOf(scene.as('alice', 'send bob hello --json --seal'))
    const { documents } = await scene.as('alice', 'key show --json')
    const { pubkey = '', agent_id: agentId = '' } = documents<Record<string, string>>()[0] ?? {}
    const address = `alice@${scene.service.authority}`
    for (const verify of [
      '',
      ...['alice', address, agentId, pubkey, 'bob --verify alice'].map((one) => ` --verify ${one}`),
    ]) {
      const { stdout } = await scene.as('bob', `read ${id}${verify}`)
      expect(stdout, verify).toContain('checked       sealed, signature verified\n')
      expect(stdout, verify).toContain(`from          ${address} (${agentId})\n`)
    }
    const elsewhere = await scene.as('bob', `read ${id} --verify bob`)
    expect(elsewhere).toMatchObject({
      exitCode: 4,
      stdout: '',
      stderr: expect.stringContaining(`from ${address} (${agentId}), which --verify does not name`),
    })
    const list = await scene.as('bob', 'inbox --requests --open --verify bob --json')
    expect(list.documents()).toMatchObject([{ opened: { verified: false, sender: { agentId, name: 'alice' } } }])
    expect((await scene.as('bob', 'inbox --requests --open --verify bob')).stdout).toContain(
      '[sealed, from a sender that --verify does not name',
    )
  })

  test('lists show names, and the id of a stranger', async () => {
    await using scene = await startScene('alice', 'bob')
    const id = await idOf(scene.as('alice', 'send bob hello --json'))
    const [{ agent_id: agentId = '' } = {}] = (await scene.as('alice', 'key show --json')).documents<{
      agent_id: string
    }>()
    expect((await scene.as('bob', 'events')).stdout).toMatch(/from alice\n$/)
    expect((await scene.as('bob', 'inbox --requests')).stdout).toContain(
      `from alice\n    [signed, signature verified, ${agentId}]\n    | hello\n`,
    )
    expect((await scene.as('bob', `contacts accept alice@${scene.service.authority}`)).exitCode).toBe(0)
    expect((await scene.as('bob', 'contacts')).stdout).toBe(`${agentId}  accepted  alice\n`)
    expect((await scene.as('bob', 'inbox')).stdout).toContain('from alice\n    [signed, signature verified]\n')
    expect((await scene.as('alice', `receipt ${id}`)).stdout).toMatch(
      /^accepted \(accepted at \S+, from alice to bob\)\n$/,
    )
    expect((await scene.as('bob', `lookup alice@${scene.service.authority}`)).stdout).toContain(agentId)
  })

  test('an older message names its sender by id: it is verified with the name, which is then remembered', async () => {
    await using scene = await startScene('alice', 'bob')
    const key = parseKey(readFileSync(scene.key('alice'), 'utf8'))
    const { sig: _sig, ...unsigned } = JSON.parse((await scene.as('alice', 'send bob hello --print')).raw)
    const envelope = signEnvelope({ ...unsigned, from: key.agentId }, key.secretKey)
    const sent = await scene.as('alice', 'post - --quiet', { stdin: JSON.stringify(envelope) })
    expect(sent.exitCode).toBe(0)
    const before = (await scene.as('bob', 'inbox --requests')).stdout
    expect(before).toContain(`from ${key.agentId.slice(0, 8)}…\n`)
    expect(before).toContain('[signed, sender according to the service, signature not checked (--verify)')
    expect(await scene.as('bob', `read ${envelope.id} --verify ${key.agentId}`)).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('no key is known'),
    })
    expect((await scene.as('bob', `read ${envelope.id} --verify alice`)).stdout).toContain('signed, signature verified')
    expect((await scene.as('bob', 'inbox --requests')).stdout).toContain('from alice\n    [signed, signature verified')
  })

  test('a name keeps the key that was seen first, over all commands', async () => {
    await using scene = await startScene('alice', 'bob', 'mallory')
    await scene.as('alice', 'send bob hello')
    expect((await scene.as('bob', 'inbox --requests')).stdout).toContain('signature verified')
    const [mallory = {}] = (await scene.as('bob', 'lookup mallory --json')).documents()
    const body = JSON.stringify({ ...mallory, name: scene.name('alice') })
    scene.service.meet('GET /v2/agents/alice', { kind: 'answer', status: 200, body })
    const run = await scene.as('bob', 'lookup alice')
    expect(run).toMatchObject({ exitCode: 4, stdout: '' })
    expect(run.stderr).toContain('the key of alice is not that of ')
    expect(run.stderr).toContain(`remove the file pin/<name> of this agent in ${scene.folder.path('state/agents')}`)
    // The first key is used without asking again.
    const before = scene.service.requests.length
    expect((await scene.as('bob', 'inbox --requests')).stdout).toContain('signature verified')
    expect(scene.service.requests.slice(before).map(({ target }) => target)).not.toContain('/v2/agents/alice')
  })
})

describe('spec 13.5: a message that is good, but addressed to another reader', () => {
  /** Alice sends `name` a message. The service then shows there what she wrote under its id for somebody else. */
  async function showInstead(scene: Scene, name: string, to: string, body: string): Promise<string> {
    const id = await idOf(scene.as('alice', `send ${name} --json`, { rest: ['hello'] }))
    const key = parseKey(readFileSync(scene.key('alice'), 'utf8'))
    const other = await new AgentClient({ url: scene.service.url, key }).compose({ to: scene.name(to), body, id })
    scene.service.tamper(id, (envelope) => Object.assign(envelope, other))
    return id
  }

  test('is marked in lists, and refused by read, which says to whom it is addressed', async () => {
    await using scene = await startScene('alice', 'bob', 'carol')
    await scene.as('carol', 'policy open')
    const id = await showInstead(scene, 'carol', 'bob', 'pay carol')
    const { authority } = scene.service
    for (const verify of ['', ' --verify alice']) {
      const list = await scene.as('carol', `inbox --open${verify}`)
      expect(list.stdout).toContain(`is addressed to bob@${authority}, not to carol@${authority}`)
      expect(list.stdout).toContain('NOT TO BE TRUSTED')
      expect(list.stdout).not.toContain('pay carol')
      const read = await scene.as('carol', `read ${id}${verify} --json`)
      expect(read).toMatchObject({ exitCode: 4, stdout: '' })
      expect(JSON.parse(read.stderr)).toMatchObject({ error: { code: 'addressed_to_another' } })
    }
  })

  test('is refused if this agent wrote it itself for somebody else, and it is shown in the inbox', async () => {
    await using scene = await startScene('alice', 'bob')
    await showInstead(scene, 'alice', 'bob', 'pay alice')
    const list = await scene.as('alice', 'inbox')
    expect(list.stdout).toContain('NOT TO BE TRUSTED')
    expect(list.stdout).not.toContain('pay alice')
  })

  test('is a copy, and not verified, if this agent asks for what it sent', async () => {
    await using scene = await startScene('alice', 'bob')
    const id = await idOf(scene.as('alice', 'send bob --json', { rest: ['hello'] }))
    const { stdout } = await scene.as('alice', `read ${id}`)
    expect(stdout).toContain(`signed, by this agent, a copy of your message to bob@${scene.service.authority}\n`)
    expect(stdout).toContain('| hello')
    const json = await scene.as('alice', `read ${id} --json`)
    expect(json.documents()).toMatchObject([{ opened: { body: 'hello', verified: false } }])
  })

  test('is marked if it is a post that is shown on another board', async () => {
    await using scene = await startScene('alice')
    const [one, two] = [await boardOf(scene), await boardOf(scene)]
    await scene.as('alice', `send board:${one} first`)
    await showInstead(scene, `board:${one}`, `board:${two}`, 'moved')
    const { stdout } = await scene.as('alice', `boards feed ${one} --verify alice`)
    expect(stdout).toContain('[signed, signature verified]\n    | first')
    expect(stdout).toContain(`is addressed to board:${two}, not to board:${one}`)
    expect(stdout).not.toContain('| moved')
  })

  async function boardOf(scene: Scene): Promise<string> {
    return (await scene.as('alice', 'boards create News --quiet')).stdout.trim()
  }
})

describe('lists', () => {
  test('show a page, print how to continue, and continue', async () => {
    await using scene = await startScene('alice')
    for (const text of ['one', 'two', 'three']) await scene.as('alice', `send alice ${text}`)
    const first = await scene.as('alice', 'inbox --limit 2')
    expect(first.stdout).toContain('two')
    expect(first.stdout).not.toContain('three')
    const cursor = /--after '([^']+)'/.exec(first.stderr)?.[1] ?? ''
    const rest = await scene.as('alice', 'inbox', { rest: ['--after', cursor] })
    expect(rest.stdout).toContain('three')
    expect(rest.stdout).not.toContain('two')
    const all = await scene.as('alice', 'inbox --limit 1 --all --json')
    expect(all.documents()).toHaveLength(3)
    expect(all.stderr).toBe('')
  })

  test('events continue after a cursor, and report a gap', async () => {
    await using scene = await startScene('alice')
    const ids: string[] = []
    for (const text of ['one', 'two', 'three', 'four'])
      ids.push(await idOf(scene.as('alice', `send alice ${text} --json`)))
    const cursors = (run: Run) => run.documents().map(({ cursor }) => cursor)
    expect(cursors(await scene.as('alice', 'events --json --after 1 --limit 2'))).toEqual([2, 3])
    expect(cursors(await scene.as('alice', 'events --json --all --limit 1'))).toEqual([1, 2, 3, 4])
    await scene.service.expire(...ids.slice(0, 3))
    const run = await scene.as('alice', 'events --after 1')
    expect(run.stderr).toContain('warning: events 2 to 3 are no longer kept')
  })

  test.each(['--limit 0', '--limit 101', '--limit x', '--limit 1.5'])('%s is a usage error', async (option) => {
    await using scene = await startScene('alice')
    for (const command of ['inbox', 'events', 'agents', 'contacts list']) {
      expect((await scene.as('alice', `${command} ${option}`)).exitCode, command).toBe(2)
    }
  })
})
