/** Verifies the books of a database without services, in a process that has their code (deploy/image). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Discrepancy } from '@svc/contracts/admin.ts'
import type { Io } from '../io.ts'

interface VerifiedDatabase {
  readonly sections: readonly { readonly name: string; readonly checked: number; readonly wrong: number }[]
  /** Charges that were under way. The services end them when they start. */
  readonly unfinished: number
}

const PROGRAM = new URL('../../../../deploy/image/src/verify-books.ts', import.meta.url)

/** @param onWrong called for each discrepancy at once. */
export async function verifyDatabase(
  url: string,
  { env, signal }: Pick<Io, 'env' | 'signal'>,
  onWrong: (section: string, wrong: Discrepancy) => void,
): Promise<VerifiedDatabase> {
  const child = spawn(process.execPath, [fileURLToPath(PROGRAM)], {
    env: { ...env, SVC_DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  })
  const ended = once(child, 'close')
  const complaint = text(child.stderr)
  let verified: VerifiedDatabase | undefined
  for await (const line of createInterface(child.stdout)) {
    const said = JSON.parse(line) as VerifiedDatabase | { section: string; wrong: Discrepancy }
    if ('section' in said) onWrong(said.section, said.wrong)
    else verified = said
  }
  await ended
  signal.throwIfAborted()
  if (verified === undefined) throw new Error(`the books could not be verified: ${(await complaint).trim()}`)
  return verified
}
