/** The second thread that verifies signatures. It takes tickets from the ring, and sleeps while the ring is empty. */
import { workerData } from 'node:worker_threads'
import { importPublicKey, type VerifyKey, verifyRequestNode } from '@svc/svc1/node/verify-node.ts'
import { LRUCache } from 'lru-cache'
import { VerifyRing } from './verify-ring.ts'

// A key takes at most 1 KB.
const MAX_KEYS = 10_000

const ring = new VerifyRing(workerData as SharedArrayBuffer)
const keys = new LRUCache<string, VerifyKey>({ max: MAX_KEYS })

for (;;) {
  const ticket = ring.take()
  if (ticket === undefined) {
    ring.sleep()
    continue
  }
  const { publicKey, signature, signed } = ring.read(ticket)
  ring.settle(ticket, verifyRequestNode(signature, signed, keyOf(publicKey)))
}

function keyOf(publicKey: Uint8Array): VerifyKey {
  const name = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.length).toString('latin1')
  let key = keys.get(name)
  if (key === undefined) {
    key = importPublicKey(publicKey)
    keys.set(name, key)
  }
  return key
}
