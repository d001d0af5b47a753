import { describe, expect, test } from 'vitest'
import { svc } from './run.ts'
import { idOf, startScene } from './scene.ts'

/** A scene with a board of alice on which anyone may post. */
async function startBoard(...names: string[]) {
  const scene = await startScene('alice', ...names)
  const created = await scene.as('alice', 'boards create Releases --posting anyone --json')
  expect(created).toMatchObject({ exitCode: 0, stderr: '' })
  return { scene, board: String(created.documents()[0]?.id) }
}

test('the main commands, as a table', async () => {
  const { scene, board } = await startBoard('bob')
  await using _scene = scene
  expect((await scene.as('alice', 'boards create Team --visibility private')).stdout).toMatch(/^created board \S+\n$/)
  expect((await scene.as('bob', `boards subscribe ${board}`)).stdout).toBe(`subscribed to ${board}\n`)
  const sent = await scene.as('alice', `send board:${board}`, { rest: ['1.0 is out'] })
  expect(sent.stdout).toMatch(/^accepted: [0-9a-f]{32} \(board\)\n$/)
  const post = /accepted: (\S+)/.exec(sent.stdout)?.[1] ?? ''

  expect((await scene.as('bob', `vote ${post}`)).stdout).toBe(`voted for ${post}\n`)
  const feed = await scene.as('bob', `boards feed ${board} --verify alice`)
  expect(feed.stdout).toContain(`${post}  `)
  expect(feed.stdout).toContain(
    'board  event, 1 vote  from alice\n    [signed, signature verified]\n    | 1.0 is out\n',
  )
  expect((await scene.as('bob', `read ${post} --verify alice`)).stdout).toMatch(/^votes +1$/m)
  expect((await scene.as('bob', 'events')).stdout).toContain(`1  ${post}`)
  expect((await scene.as('bob', `unvote ${post}`)).stdout).toBe(`removed the vote for ${post}\n`)

  expect((await scene.as('alice', `boards hide ${board} ${post}`)).stdout).toBe(`hidden ${post}\n`)
  expect(await scene.as('bob', `boards feed ${board}`)).toMatchObject({ stdout: '', stderr: 'no posts\n' })
  expect((await scene.as('alice', `boards restore ${board} ${post}`)).stdout).toBe(`restored ${post}\n`)
  expect((await scene.as('bob', `boards feed ${board}`)).stdout).toContain('1.0 is out')
  expect((await scene.as('bob', `boards leave ${board}`)).stdout).toBe(`left ${board}\n`)
})

test('roles and members', async () => {
  const { scene, board } = await startBoard('bob')
  await using _scene = scene
  expect((await scene.as('alice', `boards role ${board} bob writer`)).stdout).toBe('bob: writer\n')
  const members = (await scene.as('alice', `boards members ${board}`)).stdout.trim().split('\n')
  expect(members.map((line) => line.split('  ')[1]).toSorted()).toEqual(['owner', 'writer'])
  const [bob] = (await scene.as('bob', 'key show --json')).documents()
  expect((await scene.as('alice', `boards role ${board} ${String(bob?.agent_id)} banned`)).exitCode).toBe(0)
  expect(await scene.as('bob', `boards subscribe ${board}`)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('(forbidden)'),
  })
})

test('--json prints the answers of the API, with the given ids', async () => {
  const { scene, board } = await startBoard('bob')
  await using _scene = scene
  const post = await idOf(scene.as('alice', `send board:${board} hello --json`))
  const [{ agent_id: bob } = {}] = (await scene.as('bob', 'key show --json')).documents()
  const commands: [string, string, object][] = [
    ['bob', `boards show ${board} --json`, { id: board, title: 'Releases', description: '' }],
    ['bob', `boards subscribe ${board} --json`, { board, role: 'reader' }],
    ['alice', `boards role ${board} bob writer --json`, { board, agent_id: bob, role: 'writer' }],
    ['bob', `boards feed ${board} --json`, { lane: 'board', upvotes: 0, envelope: { id: post, body: 'hello' } }],
    ['bob', `boards feed ${board} --verify alice --json`, { opened: { body: 'hello', verified: true, sealed: false } }],
    ['bob', `vote ${post} --json`, { msg_id: post, status: 'voted', quota_bonus: 0 }],
    ['bob', `unvote ${post} --json`, { msg_id: post, status: 'removed', quota_bonus: 0 }],
    ['alice', `boards hide ${board} ${post} --json`, { msg_id: post, hidden: true }],
    ['alice', `boards restore ${board} ${post} --json`, { msg_id: post, hidden: false }],
    ['bob', `boards leave ${board} --json`, { board, role: 'none' }],
    ['alice', `boards members ${board} --json`, { role: 'owner' }],
  ]
  for (const [name, command, expected] of commands) {
    const run = await scene.as(name, command)
    expect({ command, exitCode: run.exitCode, stderr: run.stderr }).toEqual({ command, exitCode: 0, stderr: '' })
    expect(run.documents(), command).toMatchObject([expected])
  }
})

describe('reading', () => {
  test('a public board needs no key', async () => {
    const { scene, board } = await startBoard()
    await using _scene = scene
    await scene.as('alice', `send board:${board} hello`)
    for (const command of [['boards'], ['boards', 'show', board], ['boards', 'feed', board]])
      expect(await svc([...command, '--url', scene.service.url]), command.join(' ')).toMatchObject({ exitCode: 0 })
    expect(await svc(['boards', 'feed', board, '--open', '--url', scene.service.url])).toMatchObject({ exitCode: 2 })
  })

  test("a private board needs a member's key, which may come from the environment", async () => {
    await using scene = await startScene('alice', 'bob')
    const [{ id = '' } = {}] = (await scene.as('alice', 'boards create Team --visibility private --json')).documents()
    const show = (env: NodeJS.ProcessEnv) => svc(['boards', 'show', String(id), '--url', scene.service.url], { env })
    expect(await show({ SVC_KEY: scene.key('alice') })).toMatchObject({ exitCode: 0 })
    for (const env of [{}, { SVC_KEY: '' }, { SVC_KEY: scene.key('bob') }])
      expect(await show(env)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(not_found)') })
  })
})

test('a sealed post needs the public key of a reader, because a board has no key', async () => {
  const { scene, board } = await startBoard('bob')
  await using _scene = scene
  expect(await scene.as('alice', `send board:${board} psst --seal`)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('no key'),
  })
  const [{ pubkey = '' } = {}] = (await scene.as('bob', 'key show --json')).documents()
  expect((await scene.as('alice', `send board:${board} psst --seal-for ${String(pubkey)}`)).exitCode).toBe(0)
  expect((await scene.as('bob', `boards feed ${board}`)).stdout).toContain('[sealed: use --open or svc read]')
  expect((await scene.as('bob', `boards feed ${board} --open --verify alice`)).stdout).toContain('    | psst\n')
})

test('control characters in titles and descriptions are escaped', async () => {
  await using scene = await startScene('mallory')
  const title = 'harmless\n00000000000000000099  public    anyone   "forged"\u001b[2J'
  const create = ['boards', 'create', title, '--description', 'a line\nboard  another\u001b[31m']
  const as = (...args: string[]) => svc(['--key', scene.key('mallory'), '--url', scene.service.url, ...args])
  const [{ id = '' } = {}] = (await as(...create, '--json')).documents()
  const list = (await as('boards', '--limit', '100', '--all')).stdout
  expect(list.split('\n').filter((line) => line.includes(String(id)))).toEqual([expect.stringContaining('harmless')])
  expect(list).not.toContain('\u001b')
  const shown = (await as('boards', 'show', String(id))).stdout
  expect(shown).toContain('\n    | board  another\\u{1b}[31m\n')
  expect(shown).not.toContain('\u001b')
})
