import { randomBytes } from 'node:crypto'
import { StartError } from '../start-error.ts'
import { canOthersRead, createFile, readIfThere } from './files.ts'

const MIN_CHARACTERS = 32

/**
 * The token that clients over HTTP must send, from a file; made where there is none.
 * @throws StartError where others can read it, it is shorter than 32 characters, or has other than visible ASCII.
 */
export function readOrMakeToken(path: string): string {
  if (readIfThere(path) === undefined) createFile(path, `${randomBytes(32).toString('hex')}\n`)
  if (canOthersRead(path))
    throw new StartError(`others can read ${path}, and whoever has it can use the agent: chmod 600 ${path}`)
  const token = readIfThere(path)?.toString('utf8').trim() ?? ''
  if (!/^[!-~]+$/.test(token) || token.length < MIN_CHARACTERS) {
    throw new StartError(`${path} holds no token: it is ${MIN_CHARACTERS} visible characters of ASCII or more`)
  }
  return token
}
