import { type AgentKey, formatKey, generateKey, parseKey } from '@svc/sdk/keys.ts'
import { StartError } from '../errors.ts'
import { canOthersRead, createFile, readCreated } from './files.ts'

/**
 * Reads the key of the agent.
 * @throws StartError if the file does not exist, is not a key, or others can read it. The text never shows its content.
 */
export function readKeyFile(path: string): AgentKey {
  const content = readCreated(path)
  if (content === undefined) {
    throw new StartError(`${path} does not exist: name a key file, or add --register <name> to create one`)
  }
  if (canOthersRead(path)) {
    throw new StartError(`others can read ${path}, and could act as the agent: run chmod 600 ${path}`)
  }
  try {
    return parseKey(content)
  } catch (cause) {
    throw new StartError(`${path} is not a key file: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Reads the key. Creates the file with a new key if it does not exist. Processes that start at the same moment get the same
 * key.
 * @throws StartError like `readKeyFile`.
 */
export function readOrMakeKeyFile(path: string): AgentKey {
  if ((readCreated(path) ?? '') === '') createFile(path, `${formatKey(generateKey())}\n`)
  return readKeyFile(path)
}
