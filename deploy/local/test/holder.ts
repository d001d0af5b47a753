/** A small launcher for tests: runs a keeper, a lock and a NATS on the given folder, until it is killed or its input ends. */

import { startKeeper } from '@svc/processes/keep.ts'
import { createMark } from '@svc/processes/marks.ts'
import { startNats } from '../src/engines/nats.ts'
import { deriveSecrets } from '../src/engines/secrets.ts'
import { lockFolder } from '../src/machine/folder-lock.ts'

process.stdin.on('close', () => process.exit()).resume()
const folder = process.argv[2] ?? ''
const mark = createMark(folder)
await startKeeper(mark)
try {
  await lockFolder(folder, mark)
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
  process.exit(1)
}
await startNats({ folder, mark, passwords: deriveSecrets('test').natsPasswords, onProblem: () => {} })
console.log('holding')
