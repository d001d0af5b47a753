import { join } from 'node:path'
import { findTestRun } from '../engines/engines.ts'

/** @returns the path of the command `svc`, as the image has it. */
export async function findSvc(): Promise<string> {
  return join((await findTestRun()).build, 'svc.js')
}
