import { type AgentKey, formatKey, generateKey, parseKey } from '@svc/sdk/keys.ts'
import { StartError } from '../start-error.ts'
import { canOthersRead, createFile, readIfThere } from './files.ts'

/**
 * Reads the key of the agent.
 * @throws StartError where there is no file, it is no key, or others can read it; the text never shows what is in the file.
 */
export function readKeyFile(path: string): AgentKey {
  const content = readIfThere(path)
  if (content === undefined) {
    throw new StartError(`${path} does not exist: name a key file, or add --register <name> to make one`)
  }
  if (canOthersRead(path)) {
    throw new StartError(`others can read ${path}, and whoever has it can act as the agent: chmod 600 ${path}`)
  }
  try {
    return parseKey(content.toString('utf8'))
  } catch (cause) {
    throw new StartError(`${path} is not a key file: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Reads the key, or makes one where there is no file. Two processes that start at the same moment get the same key.
 * @throws StartError as `readKeyFile`.
 */
export function readOrMakeKeyFile(path: string): AgentKey {
  if (readIfThere(path) === undefined) createFile(path, `${formatKey(generateKey())}\n`)
  return readKeyFile(path)
}
