import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type AgentKey, generateKey } from '@svc/sdk/keys.ts'
import { syncFolder } from '@svc/sdk/store/durable-file.ts'
import type { Command } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { DEFAULT_URL, type GlobalOptions, newClient, outputOf } from '../../context.ts'
import { createAgentStore, folderOfAgent } from '../../files/agent-store.ts'
import { readKeyFile, writeKeyFile } from '../../files/key-file.ts'
import { configFolder, defaultKeyPath } from '../../files/places.ts'
import { assertProfileName, defaultProfile, findProfile, saveProfile, setDefaultProfile } from '../../files/profiles.ts'
import { askOnTerminal, type Io, UsageError } from '../../io.ts'
import { columns, type Output } from '../../output/output.ts'
import { createProgressBar } from '../../output/progress-bar.ts'

const FOLDER_OF_OWNER = 0o700

export function addInit(program: Command, io: Io): void {
  program
    .command('init')
    .argument('[name]', 'name of the agent; svc asks for it if it is absent', nameOrId)
    .option('--default', 'make this the default profile; the first profile is the default anyway')
    .description('make an agent: create a key, register it, and create a profile for it')
    .addHelpText(
      'after',
      `
The key is created in the configuration folder, unless --key names another file. An existing key file is used. The
profile has the name of the agent, unless --profile names it. If a step fails, run the command again to continue.

Examples:
  svc init alice
  svc init bob --url https://agents.example
  svc init carol --key carol.key --profile work --default`,
    )
    .action(
      async (given: string | undefined, { default: asDefault = false }: { default?: boolean }, command: Command) => {
        // `contextOf` does not work here, because the named profile does not exist yet.
        const {
          key,
          url,
          profile,
          authority = io.env.SVC_AUTHORITY || undefined,
        } = command.optsWithGlobals<GlobalOptions>()
        const out = outputOf(io, command)
        const { signal } = io
        const name = given ?? (await askForName(io))
        const made = { name: profile ?? name, keyPath: key, url: url ?? (io.env.SVC_URL || DEFAULT_URL), authority }
        const folder = configFolder(io.env)
        const target = placeFor(folder, made)
        const agentKey = findOrMakeKey(target.key, out)
        const pinned = authority === undefined ? {} : { authority }
        const warn = (text: string): void => out.warn(`warning: ${text}`)
        const store = createAgentStore(async () =>
          folderOfAgent(io.env, 'agents', { ...agentKey, authority: await client.authority({ signal }) }),
        )
        const client = newClient({ url: target.url, key: agentKey, store, warn, ...pinned })
        const bar = createProgressBar(io)
        const onProgress = out.json ? undefined : bar.update
        const registered = await client.register(name, { signal, onProgress }).finally(() => bar.clear())
        await client.pin(name, agentKey.pubkey)
        saveProfile(folder, made.name, { ...target, authority: await client.authority({ signal }), agent: name })
        const first = defaultProfile(folder) === undefined
        if (first || asDefault) setDefaultProfile(folder, made.name)
        const isDefault = defaultProfile(folder) === made.name
        const facts = { agent_id: registered.agent_id, key: target.key, profile: made.name }
        out.print(
          { address: registered.address, ...facts, default: isDefault },
          [`registered ${registered.address}`, ...columns({ ...facts, ...(isDefault ? { default: 'yes' } : {}) })],
          registered.agent_id,
        )
      },
    )
}

/** @throws UsageError if there is no terminal to ask on. */
async function askForName(io: Io): Promise<string> {
  const answer = await askOnTerminal('Name of the agent (3 to 32 characters of a-z, 0-9, _ and -): ', io)
  if (answer === undefined) throw new UsageError('no name: svc init <name>')
  return nameOrId(answer)
}

/** The key file and the URL of the new profile. @throws UsageError if the profile exists with other values. */
function placeFor(folder: string, { name, keyPath, url }: { name: string; keyPath: string | undefined; url: string }) {
  assertProfileName(name)
  const key = resolve(keyPath ?? defaultKeyPath(folder, name))
  const before = findProfile(folder, name)
  if (before !== undefined && (before.url !== url || before.key !== key)) {
    throw new UsageError(
      `profile ${name} exists already, for ${before.url} with ${before.key}: choose another --profile`,
    )
  }
  return { key, url }
}

function findOrMakeKey(path: string, out: Output): AgentKey {
  if (existsSync(path)) return readKeyFile(path, out.warn)
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: FOLDER_OF_OWNER })
  const key = generateKey()
  writeKeyFile(path, key)
  syncFolder(folder)
  return key
}
