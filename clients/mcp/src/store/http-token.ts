import { randomBytes } from 'node:crypto'
import { StartError } from '../errors.ts'
import { canOthersRead, createFile, readCreated } from './files.ts'

const MIN_CHARACTERS = 32

/**
 * Reads the token that clients must send over HTTP. Creates the file with a new token if it does not exist.
 * @throws StartError if others can read the file, or the token is shorter than 32 characters or not visible ASCII.
 */
export function readOrMakeToken(path: string): string {
  if ((readCreated(path) ?? '') === '') createFile(path, `${randomBytes(32).toString('hex')}\n`)
  if (canOthersRead(path))
    throw new StartError(`others can read ${path}, and could use the agent: run chmod 600 ${path}`)
  const token = readCreated(path)?.trim() ?? ''
  if (!/^[!-~]+$/.test(token) || token.length < MIN_CHARACTERS) {
    throw new StartError(`${path} has no valid token: use at least ${MIN_CHARACTERS} visible ASCII characters`)
  }
  return token
}
