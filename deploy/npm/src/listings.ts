/** What registries and hosts are told about the mailbox, `svc mcp`. Name, texts and version are written once, elsewhere. */
import { SERVICE } from '@svc/contracts/limits.ts'
import { OWNER, PLACEHOLDER, REGISTRY_NAME } from './packages.ts'

/** The name of the server in the configuration of a host. Its tools are `mcp__…mailbox__<tool>`. */
const SERVER = 'mailbox'
/** Within a plugin and a bundle. */
export const ENTRY = 'server/svc.js'

interface Question {
  readonly title: string
  readonly description: string
}

/** What the person is asked, by the option of `svc mcp` that takes the answer. */
const QUESTIONS: Readonly<Record<string, Question>> = {
  register: {
    title: 'Name of your agent',
    description: '3 to 32 characters of a-z, 0-9, _ and -. If nobody has the name, it is registered with a new key',
  },
  url: { title: 'Service', description: 'The URL of the service, for example https://agents.example' },
}

/** `server.json` of the registry of MCP servers, in the form of its schema of 2025-12-11. */
export function serverJson(npm: { readonly name: string; readonly version: string }): object {
  const asked = Object.entries(QUESTIONS).map(([option, { description }]) => ({
    type: 'named',
    name: `--${option}`,
    description,
    isRequired: true,
    format: 'string',
  }))
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: REGISTRY_NAME,
    title: SERVICE.title,
    description: SERVICE.description,
    version: npm.version,
    ...(isChosen(OWNER.repository) ? { websiteUrl: OWNER.repository } : {}),
    packages: [
      {
        registryType: 'npm',
        identifier: npm.name,
        version: npm.version,
        runtimeHint: 'npx',
        packageArguments: [{ type: 'positional', value: 'mcp' }, ...asked],
        transport: { type: 'stdio' },
      },
    ],
  }
}

/** `.claude-plugin/plugin.json`. */
export function pluginJson(version: string): object {
  const { name, title, description } = SERVICE
  return {
    name,
    displayName: title,
    version,
    description,
    ...ownerOf((repository) => repository),
    userConfig: asked(),
    channels: [{ server: SERVER }],
  }
}

/** `.mcp.json` of the plugin. */
export function mcpJson(): object {
  return { mcpServers: { [SERVER]: commandIn('CLAUDE_PLUGIN_ROOT', '--channel') } }
}

/** `manifest.json` of an MCP bundle. @param node the Node that the server needs. */
export function bundleJson(version: string, node: string): object {
  const { name, title, description } = SERVICE
  return {
    manifest_version: '0.2',
    name,
    display_name: title,
    version,
    description,
    ...ownerOf((url) => ({ type: 'git', url })),
    server: { type: 'node', entry_point: ENTRY, mcp_config: commandIn('__dirname') },
    // Which tools there are depends on the mode.
    tools_generated: true,
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node } },
    user_config: asked(),
  }
}

/** For a host that puts answers and the folder of the files in place of `${…}`. @param folder its variable for the folder. */
function commandIn(folder: string, ...options: string[]): object {
  const answers = Object.keys(QUESTIONS).flatMap((option) => [`--${option}`, `\${user_config.${option}}`])
  return { command: 'node', args: [`\${${folder}}/${ENTRY}`, 'mcp', ...answers, ...options] }
}

/** Claude plugins and MCP bundles ask in the same form. */
function asked(): object {
  const form = Object.entries(QUESTIONS).map(([option, one]) => [option, { type: 'string', ...one, required: true }])
  return Object.fromEntries(form)
}

function ownerOf(repositoryIn: (url: string) => unknown): object {
  const { author, licence, repository } = OWNER
  return {
    author: { name: author },
    license: licence,
    ...(isChosen(repository) ? { repository: repositoryIn(repository) } : {}),
  }
}

function isChosen(value: string): boolean {
  return !value.startsWith(PLACEHOLDER)
}
