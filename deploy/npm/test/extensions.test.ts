/** Checks what registries and hosts are given: `server.json`, the Claude plugin and the MCP bundle. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getMcpConfigForManifest, unpackExtension, validateManifest } from '@anthropic-ai/mcpb'
import { SERVICE } from '@svc/contracts/limits.ts'
import { versionOf } from '@svc/npm/build.ts'
import { buildBundle, buildPlugin } from '@svc/npm/extensions.ts'
import { serverJson } from '@svc/npm/listings.ts'
import { PACKAGES } from '@svc/npm/packages.ts'
import { type SharedSystem, shareSystem } from '@svc/test/support/system/shared-system.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { temporaryFolder } from './installed.ts'
import { startMailbox } from './mailbox.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MODULE = /^server\/(svc|[\w-]+-[A-Z0-9]{8})\.js$/
/** Names of tools beyond this are refused by some hosts. */
const TOOL_NAME_LENGTH = 64

const cli = PACKAGES.find(({ mcpName }) => mcpName !== undefined) ?? expect.fail('no package has the server')
const version = versionOf(cli.folder)
const folder = temporaryFolder()
const plugin = join(folder.path, 'plugin')
const bundle = join(folder.path, 'bundle')
let system: SharedSystem

beforeAll(async () => {
  await buildPlugin(cli, version, plugin)
  await buildBundle(cli, version, join(folder.path, 'a.mcpb'))
  await unpackExtension({ mcpbPath: join(folder.path, 'a.mcpb'), outputDir: bundle, silent: true })
  system = await shareSystem('roomy')
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'))
const filesIn = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1))
const freshName = (): string => `agent-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 6)}`

/** Starts the server in an empty folder of a person who has no agent yet. */
async function start({ command, args }: { command: string; args: string[] }, name: string) {
  const home = join(folder.path, name)
  mkdirSync(home)
  const results = await startMailbox(command, args, home, { SVC_CONFIG_DIR: join(home, 'config') })
  expect(readdirSync(home)).toEqual(['config'])
  return results
}

test('name, description and version are the same everywhere', () => {
  const { name, description } = SERVICE
  expect(readJson(ROOT, 'package.json')).toMatchObject({ name, description, version: SERVICE.version })
  expect(version).toBe(SERVICE.version)
  for (const one of [readJson(plugin, '.claude-plugin/plugin.json'), readJson(bundle, 'manifest.json')])
    expect(one).toMatchObject({ name, description, version })
})

describe('server.json', () => {
  const server = serverJson({ name: cli.name, version }) as Listing

  test('keeps the limits of the registry: the form of the name, 100 characters, an exact version, the name in the package', () => {
    expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
    expect(server.name).toBe(cli.mcpName)
    expect(server.description.length).toBeLessThanOrEqual(100)
    expect(server.title.length).toBeLessThanOrEqual(100)
    expect(server.version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(server.packages).toMatchObject([{ identifier: cli.name, version, transport: { type: 'stdio' } }])
  })

  test('its arguments start the mailbox', async () => {
    const name = freshName()
    const answers: Record<string, string> = { '--register': name, '--url': system.urls[0] ?? '' }
    const args = server.packages.flatMap(({ packageArguments }) =>
      packageArguments.flatMap((one) => (one.type === 'named' ? [one.name, answers[one.name] ?? ''] : [one.value])),
    )
    const results = await start({ command: 'node', args: [join(plugin, 'server/svc.js'), ...args] }, name)
    expect(results['tools/call']).toMatchObject({ structuredContent: { name } })
  })
})

interface Listing {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly version: string
  readonly packages: {
    readonly packageArguments: ({ type: 'named'; name: string } | { type: 'positional'; value: string })[]
  }[]
}

describe('the MCP bundle', () => {
  test('is valid for the makers of the format, and holds the server, its licences, and nothing of this machine', () => {
    expect(validateManifest(join(bundle, 'manifest.json'))).toBe(true)
    const strange = filesIn(bundle).filter((file) => !MODULE.test(file))
    expect(strange.toSorted()).toEqual(['manifest.json', 'server/LICENSES.txt', 'server/package.json'])
    for (const file of filesIn(bundle)) {
      const text = readFileSync(join(bundle, file), 'utf8')
      expect(text, file).not.toContain(ROOT)
      expect(text, file).not.toMatch(/\bfrom ?"(?!node:|\.\/)[^"]+";/)
    }
    expect(readFileSync(join(bundle, 'server/LICENSES.txt'), 'utf8')).toContain('@modelcontextprotocol/server 2.')
  })

  test('a host starts the mailbox, with the answers of the person', async () => {
    const name = freshName()
    const manifest = readJson(bundle, 'manifest.json')
    const userConfig = { register: name, url: system.urls[0] ?? '' }
    const options = { manifest, extensionPath: bundle, systemDirs: {}, userConfig, pathSeparator: '/' }
    const { command, args = [] } = (await getMcpConfigForManifest(options)) ?? expect.fail('not configured')
    const results = await start({ command, args }, name)
    expect(results).toMatchObject({
      initialize: { serverInfo: { name: `svc-${name}`, version } },
      'tools/call': { structuredContent: { name, unread: { inbox: 0 } } },
    })
    expect(await getMcpConfigForManifest({ ...options, userConfig: { register: name } })).toBeUndefined()
  })
})

describe('the Claude plugin', () => {
  const skill = join(plugin, 'skills/mailbox')

  test('has its parts where a host looks for them, and asks for what its server needs', () => {
    const strange = filesIn(plugin).filter((file) => !MODULE.test(file) && !file.startsWith('server/'))
    expect(strange.toSorted()).toEqual(PARTS)
    const { userConfig } = readJson(plugin, '.claude-plugin/plugin.json')
    const used = readFileSync(join(plugin, '.mcp.json'), 'utf8').matchAll(/\$\{user_config\.(\w+)\}/g)
    expect([...used].map(([, key]) => key)).toEqual(Object.keys(userConfig))
    for (const option of Object.values<object>(userConfig))
      expect(Object.keys(option).toSorted()).toEqual(['description', 'required', 'title', 'type'])
  })

  test('a host starts the mailbox; with its prefix, every name of a tool is short enough', async () => {
    const name = freshName()
    const { mcpServers } = readJson(plugin, '.mcp.json')
    const [[server, { command, args }] = expect.fail('no server')] = Object.entries<Command>(mcpServers)
    const values: Record<string, string> = {
      CLAUDE_PLUGIN_ROOT: plugin,
      'user_config.register': name,
      'user_config.url': system.urls[0] ?? '',
    }
    const given = args.map((arg) => arg.replaceAll(/\$\{([^}]+)\}/g, (_, key) => values[key] ?? expect.fail(key)))
    const results = await start({ command, args: given }, name)
    expect(results['tools/call']).toMatchObject({ structuredContent: { name } })
    const { tools } = results['tools/list'] as { tools: { name: string }[] }
    expect(tools.length).toBeGreaterThan(20)
    const long = tools.map((tool) => `mcp__plugin_${SERVICE.name}_${server}__${tool.name}`)
    expect(long.filter((each) => each.length > TOOL_NAME_LENGTH)).toEqual([])
    const text = readFileSync(join(skill, 'SKILL.md'), 'utf8')
    const named = [...text.matchAll(/`([a-z]+_[a-z_]+|whoami|reply|acknowledge|budget)`/g)].map(([, tool = '']) => tool)
    const known = new Set(tools.map((tool) => tool.name))
    expect(named.filter((tool) => !known.has(tool) && !NO_TOOLS.has(tool))).toEqual([])
  })

  test('the skill has the form of agentskills.io: the name of its folder, a description of at most 1,024 characters', () => {
    const [, head = ''] = /^---\n([\s\S]*?)\n---\n/.exec(readFileSync(join(skill, 'SKILL.md'), 'utf8')) ?? []
    const { name, description, ...rest } = parse(head)
    expect([name, rest]).toEqual([basename(skill), {}])
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(description.length).toBeLessThanOrEqual(1_024)
  })
})

interface Command {
  readonly command: string
  readonly args: string[]
}

const PARTS = ['.claude-plugin/plugin.json', '.mcp.json', 'README.md', 'skills/mailbox/SKILL.md']

/** Words of results and errors that the skill explains. */
const NO_TOOLS = new Set([
  'verified_with',
  'accept_replies',
  'key_changed',
  'request_pending',
  'budget_exhausted',
  'cannot_ask',
])
