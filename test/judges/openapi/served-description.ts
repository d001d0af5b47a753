import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, type Place } from '../../support/client/agent.ts'

/** The served `/openapi.json` as a file, in a folder that is removed when the test ends. */
export interface ServedDescription extends Disposable {
  readonly path: string
  readonly folder: string
}

export async function saveDescription(place: Place, parent: string = tmpdir()): Promise<ServedDescription> {
  const { status, text } = await call(place, 'GET', '/openapi.json')
  if (status !== 200) throw new Error(`no description: ${status} ${text}`)
  const folder = mkdtempSync(join(parent, 'svc-judge-'))
  const path = join(folder, 'openapi.json')
  writeFileSync(path, text)
  return { path, folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
