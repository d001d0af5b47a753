/** A launcher in small for tests: keeper, lock and a NATS on the folder given, until it is killed or its input ends. */
import { lockFolder } from '../src/folder-lock.ts'
import { startKeeper } from '../src/keep.ts'
import { createMark } from '../src/marks.ts'
import { startNats } from '../src/nats.ts'
import { deriveSecrets } from '../src/secrets.ts'

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
