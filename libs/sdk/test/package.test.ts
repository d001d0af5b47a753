import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPackage, linkDependencies } from '../build/package.ts'
import { startFakeService } from './fake-service.ts'

const run = promisify(execFile)
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

/** A folder of somebody who has installed the package. */
let folder: string
let packageDir: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-sdk-'))
  packageDir = join(folder, 'node_modules/@svc/sdk')
  buildPackage(packageDir)
  linkDependencies(join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('names what it depends on, and nothing of this workspace', () => {
  const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as Record<string, object>
  expect(Object.keys(manifest.dependencies ?? {})).toEqual([
    '@hpke/chacha20poly1305',
    '@hpke/core',
    '@hpke/dhkem-x25519',
    '@noble/curves',
    '@noble/ed25519',
    '@noble/hashes',
    '@sinclair/typebox', // for the types alone: see the next test but one
    'bs58',
    'canonicalize',
    'eventsource-parser',
  ])
  for (const file of readdirSync(packageDir, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(js|d\.ts)$/.test(file)) continue
    expect(readFileSync(join(packageDir, file), 'utf8'), file).not.toMatch(/from '(@svc\/|node:)|\bSymbol\.dispose\b/)
  }
})

test.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])('its types serve a program for browsers, module %s', async (module, moduleResolution) => {
  const source = join(folder, 'program.ts')
  writeFileSync(
    source,
    `import { AgentClient, ApiError, generateKey, type Message } from '@svc/sdk'
    const client = new AgentClient({ url: 'https://agents.example', key: generateKey() })
    for await (const message of client.inbox({ unacked: true })) {
      const at: number = (message satisfies Message).created_at
      console.log(at, (await client.open(message, { sender: 'alice' })).body)
    }
    try {
      await client.send({ to: 'bob', body: { text: 'hello' } }, { seal: true })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'budget_exhausted') console.log(error.retryAfterSeconds)
    }
    // @ts-expect-error: units are a number
    export const units: string = (await client.budget()).used_units
    // @ts-expect-error: there is no such policy
    await client.updateSettings({ inbox_policy: 'ajar' })`,
  )
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '']
  const args = [TSC, ...options, '--module', module, '--moduleResolution', moduleResolution, source]
  const complaints = await run(process.execPath, args, { cwd: folder }).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  )
  expect(complaints).toBe('')
})

test('it does the main job without a module or a global of Node, and without the schema compiler', async () => {
  await using service = await startFakeService()
  const guard = join(folder, 'guard.mjs')
  writeFileSync(
    guard,
    `import { isBuiltin, registerHooks } from 'node:module'
    registerHooks({
      resolve(specifier, context, next) {
        if (isBuiltin(specifier) || specifier.includes('typebox')) throw new Error(specifier + ' from ' + context.parentURL)
        return next(specifier, context)
      },
    })
    globalThis.print = console.log
    globalThis.url = process.argv[2]
    // the platform's own fetch goes on having them
    for (const name of ['Buffer', 'process', 'setImmediate', 'global']) {
      const value = globalThis[name]
      const get = () => (new Error().stack.split('\\n')[2].includes('/node_modules/') ? undefined : value)
      Object.defineProperty(globalThis, name, { get })
    }`,
  )
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `import { AgentClient, generateKey } from '@svc/sdk'
    const alice = new AgentClient({ url, key: generateKey() })
    await alice.register('alice')
    const { msg_id } = await alice.send({ to: 'alice', body: 'hello' }, { seal: true })
    for await (const message of alice.inbox()) print((await alice.open(message)).body)
    await alice.ack(msg_id)
    print((await alice.receipt(msg_id)).status)`,
  )
  const { stdout } = await run(process.execPath, ['--import', guard, program, service.url])
  expect(stdout).toBe('hello\nprocessed\n')
})
