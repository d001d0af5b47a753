/** Checks the published packages: their content, and that they work with npm and without this repository. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildPackage } from '@svc/npm/build.ts'
import { OWNER, PACKAGES, PLACEHOLDER } from '@svc/npm/packages.ts'
import { ONE_OF_EACH, startSystem, type TestSystem } from '@svc/test/support/system/system.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasRegistry, installAlone, type Packed, packAll, temporaryFolder } from './installed.ts'
import { startMailbox } from './mailbox.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
/** Parts of the server, which a client must not contain. */
const SERVERS = ['sodium-native', 'nats', 'postgres', 'pg', 'fastify', 'pino']

/** The owner may rename the package. */
const SDK = PACKAGES.find(({ folder }) => folder === 'clients/sdk')?.name

const folder = temporaryFolder()
const online = await hasRegistry()
let packages: readonly Packed[]

beforeAll(async () => {
  packages = await packAll(folder.path)
})
afterAll(() => folder[Symbol.dispose]())

const packageOf = (folder: string): Packed => packages.find((one) => one.from === folder) ?? expect.fail(`no ${folder}`)
const manifestOf = ({ folder }: Packed) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const read = ({ folder }: Packed, file: string): string => readFileSync(join(folder, file), 'utf8')

describe('content of the packages', () => {
  test('modules with types and source maps, a README and a manifest, and nothing else', () => {
    for (const packed of packages) {
      const strange = packed.files.filter(
        (file) =>
          !/^(package\.json|README\.md|dist\/[\w/.-]+\.(js|js\.map|d\.ts)|(cases|client-cases|specification|vectors)\/[\w/.-]+)$/.test(
            file,
          ),
      )
      expect(strange, packed.from).toEqual([])
      const modules = packed.files.filter((file) => file.endsWith('.js'))
      expect(modules.length, packed.from).toBeGreaterThan(20)
      for (const module of modules) {
        expect(packed.files).toContain(`${module}.map`)
        expect(packed.files).toContain(module.replace(/\.js$/, '.d.ts'))
      }
    }
  })

  test('every path of the manifest exists, and so do the fields that npm and bundlers read', () => {
    for (const packed of packages) {
      const manifest = manifestOf(packed)
      expect(manifest).toMatchObject({
        type: 'module',
        files: expect.arrayContaining(['dist']),
        engines: { node: expect.stringMatching(/^>=2/) },
      })
      const named = JSON.stringify([manifest.exports, manifest.bin ?? {}, manifest.types ?? './package.json'])
      const paths = [...named.matchAll(/"\.\/([^"]+\.\w+)"/g)].map(([, path = '']) => path)
      for (const path of paths) expect([...packed.files, 'package.json'], packed.from).toContain(path)
    }
  })

  test('until the owner has chosen licence, author, repository and namespace, npm refuses to publish', () => {
    const isOpen = Object.values(OWNER).some((choice) => choice.startsWith(PLACEHOLDER))
    for (const packed of packages) expect(manifestOf(packed).private ?? false, packed.from).toBe(isOpen)
  })

  test('no links to the workspace, no TypeScript, and no path of the machine that built it', () => {
    for (const packed of packages) {
      for (const file of packed.files.filter((one) => one.startsWith('dist/'))) {
        const text = read(packed, file)
        if (!file.endsWith('.map')) expect(text, file).not.toMatch(/\b(from|import\() ?'(@svc\/[^']+|\.[^']+\.ts)'/)
        else {
          const { sources, sourcesContent } = JSON.parse(text)
          for (const source of sources) expect(source, file).toMatch(/^(\.\.\/)+src\/[\w/.-]+\.ts$/)
          expect(sourcesContent, file).toHaveLength(sources.length)
        }
      }
      const { dependencies } = manifestOf(packed)
      for (const [name, range] of Object.entries(dependencies)) expect(range, name).toMatch(/^\^\d+\.\d+\.\d+/)
      for (const name of SERVERS) expect(Object.keys(dependencies), packed.from).not.toContain(name)
    }
  })

  test('a package must ask for the Node that its dependencies need', () => {
    const [sdk] = PACKAGES.filter(({ folder }) => folder === 'clients/sdk')
    const build = () => buildPackage({ ...(sdk ?? expect.unreachable()), engines: '>=20.19' }, join(folder.path, 'old'))
    expect(build).toThrow('canonicalize needs Node >=22, but the package says >=20.19')
  })

  test('the SDK imports nothing of Node, except for the file store', () => {
    const sdk = packageOf('clients/sdk')
    const ofNode = /\/store\/(file-store|durable-file|folder-lock)\./
    for (const file of sdk.files.filter((one) => /\.(js|d\.ts)$/.test(one) && !ofNode.test(one))) {
      expect(read(sdk, file), file).not.toMatch(/from 'node:|\bSymbol\.dispose\b/)
    }
  })
})

describe.runIf(online)('installed with only npm', { timeout: 600_000 }, () => {
  let home: string
  let system: TestSystem
  beforeAll(async () => {
    const tarballs = packages.map(({ tarball }) => tarball)
    home = await installAlone(folder.path, 'home', tarballs)
    system = await startSystem({ replicas: ONE_OF_EACH })
  }, 300_000)
  afterAll(() => system?.[Symbol.asyncDispose]())

  test.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])('the types of the SDK compile in a program for browsers, module %s', async (module, moduleResolution) => {
    const source = join(home, 'program.ts')
    writeFileSync(
      source,
      `import { AgentClient, ApiError, generateKey, type Message } from '${SDK}'
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
    const complaints = await run(process.execPath, args, { cwd: home }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    )
    expect(complaints).toBe('')
  })

  test('the SDK does its main job without a module or a global of Node, and without the schema compiler', async () => {
    const { stdout } = await run(process.execPath, [
      '--import',
      writeGuard(home),
      writeProgram(home),
      system.urls[0] ?? '',
    ])
    expect(stdout).toBe('hello\nprocessed\n')
  })

  // Node 24 runs the SDK above, and svc in the test of npx below.
  test('the SDK and the first exchange of the README work under the oldest Node', async () => {
    const node = await findNode('22')
    expect((await run(node, ['--version'])).stdout).toMatch(/^v22\./)
    expect((await run(node, [writeProgram(home), system.urls[0] ?? ''])).stdout).toBe('hello\nprocessed\n')
    const place = join(folder.path, 'exchange')
    mkdirSync(place)
    // As npx would find it: the shebang looks for node on the PATH.
    const env = {
      PATH: [dirname(node), join(home, 'node_modules/.bin'), process.env.PATH].join(':'),
      SVC_CONFIG_DIR: place,
      SVC_URL: system.urls[0],
    }
    const exchange = blockOf('README.md', 'Two agents in two minutes', 'bash').replaceAll(/\b(alice|bob)\b/g, '$1-22')
    const script = `npx() { shift 2; svc "$@"; }\n${exchange}`
    const { stdout } = await run('bash', ['--norc', '-e', '-c', script], { env, cwd: place })
    expect(stdout).toMatch(/\[sealed, signature verified\]\n {4}\| for bob-\d+ alone\nunits used/)
    expect((await run('svc', ['--help'], { env, cwd: place })).stdout).not.toContain('admin <')
  })

  test('the conformance suite judges a server under the oldest Node', async () => {
    const command = join(home, 'node_modules/.bin/svc-conformance')
    const groups = ['messages/retries', 'events/history'].flatMap((group) => ['--group', group])
    const { stdout } = await run(await findNode('22'), [
      command,
      '--url',
      system.urls[0] ?? '',
      '--pace',
      '0',
      ...groups,
    ])
    expect(stdout).toMatch(/^[1-9]\d* passed, 0 failed, \d+ skipped$/m)
  })

  test('under an old Node, svc and the SDK say in one sentence which Node they need', async () => {
    const node = await findNode('18')
    const failing = (...args: string[]) =>
      run(node, args).then(
        () => expect.fail('it ran'),
        ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
      )
    const svc = join(home, 'node_modules/.bin/svc')
    const { code, stderr } = await failing(svc, '--help')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^svc: svc needs Node 22\.19 or later, and this is Node 18\.[^\n]*\n$/)
    expect((await failing(writeProgram(home), 'http://127.0.0.1:9')).stderr).toContain(
      'Error: this platform is too old for the SDK, which needs Node 22 or later',
    )
  })

  test('npx runs the tarball of svc, as the guide configures a client of the Model Context Protocol', async () => {
    const { mcpServers } = JSON.parse(blockOf('docs/guides/mcp.md', 'Configure a client', 'json'))
    const { command, args }: { command: string; args: string[] } = mcpServers.mailbox
    const given = args.map((arg) =>
      arg
        .replace(/^file:.*/, `file:${packageOf('clients/cli').tarball}`)
        .replace(/^\/.*\.key$/, join(folder.path, 'mcp.key'))
        .replace(/^http:.*/, system.urls[0] ?? ''),
    )
    const cwd = join(folder.path, 'empty')
    mkdirSync(cwd)
    const answers = await startMailbox(command, given, cwd)
    expect(answers.initialize).toMatchObject({ serverInfo: { name: 'svc-alice' } })
    expect(answers['tools/call']).toMatchObject({ structuredContent: { name: 'alice', unread: { inbox: 0 } } })
    expect(readdirSync(cwd)).toEqual([])
  })

  test('nothing of the server was installed', () => {
    const installed = readdirSync(join(home, 'node_modules'))
    for (const name of SERVERS) expect(installed).not.toContain(name)
    expect(existsSync(join(home, 'node_modules/@svc/contracts'))).toBe(false)
  })
})

/** @returns the node to run: the one that runs this test, or one from npm. */
async function findNode(major: string): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const place = join(folder.path, `node-${major}`)
  if (!existsSync(place)) await installAlone(folder.path, `node-${major}`, [`node@${major}`])
  return join(place, 'node_modules/.bin/node')
}

/** The first block of a language under a heading of a page of this repository. */
function blockOf(page: string, heading: string, language: string): string {
  const [, section = ''] = readFileSync(join(ROOT, page), 'utf8').split(`\n## ${heading}\n`)
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section)?.[1] ?? ''
}

function writeProgram(home: string): string {
  const program = join(home, 'program.mjs')
  writeFileSync(
    program,
    `import { AgentClient, generateKey } from '${SDK}'
    const print = globalThis.print ?? console.log
    const alice = new AgentClient({ url: globalThis.url ?? process.argv[2], key: generateKey() })
    const name = 'alice-' + Date.now().toString(36)
    await alice.register(name)
    const { msg_id } = await alice.send({ to: name, body: 'hello' }, { seal: true })
    for await (const message of alice.inbox()) print((await alice.open(message)).body)
    await alice.ack(msg_id)
    print((await alice.receipt(msg_id)).status)`,
  )
  return program
}

/** Makes Node's modules and globals unavailable to packages. */
function writeGuard(home: string): string {
  const guard = join(home, 'guard.mjs')
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
    // the platform's own fetch still has them
    for (const name of ['Buffer', 'process', 'setImmediate', 'global']) {
      const value = globalThis[name]
      const get = () => (new Error().stack.split('\\n')[2].includes('/node_modules/') ? undefined : value)
      Object.defineProperty(globalThis, name, { get })
    }`,
  )
  return guard
}
