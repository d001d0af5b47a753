import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { engines } from '../../test/engines.ts'
import { rfc8032 } from '../../test/vectors.ts'
import { chooseEngine, ENGINE, logEngine, NODE_ENGINE } from './engine.ts'

test('libsodium is chosen if it can be loaded, as on test machines', () => {
  expect([ENGINE.name, engines.map(({ name }) => name)]).toEqual(['libsodium', ['libsodium', 'node:crypto']])
})

test('without its binary node:crypto is chosen, and the log has the reason', () => {
  const error = new Error('Cannot find addon')
  const choice = chooseEngine(() => {
    throw error
  })
  expect(choice).toEqual({ engine: NODE_ENGINE, fallbackReason: error })
  const logger = { info: vi.fn(), warn: vi.fn() }
  logEngine(logger, choice)
  logEngine(logger)
  expect(logger.warn.mock.calls).toEqual([[{ engine: 'node:crypto', err: error }, expect.any(String)]])
  expect(logger.info.mock.calls).toEqual([[{ engine: 'libsodium' }, expect.any(String)]])
})

test('threads load it too, even after other threads have ended', async () => {
  const source = `
    const { parentPort, workerData: { engine, key } } = require('node:worker_threads')
    import(engine).then(({ ENGINE }) => parentPort.postMessage([ENGINE.name, ENGINE.isPublicKey(key)]))`
  const workerData = { engine: new URL('./engine.ts', import.meta.url).href, key: rfc8032[0]?.publicKey }
  for (let round = 0; round < 3; round++) {
    const thread = new Worker(source, { eval: true, workerData })
    const said = await new Promise((resolve, reject) => thread.on('message', resolve).on('error', reject))
    expect(said).toEqual(['libsodium', true])
    await thread.terminate()
  }
})
