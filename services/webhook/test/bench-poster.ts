/**
 * The benchmark's baseline for webhooks: the service's own HTTPS client without a queue. It posts as fast as it can,
 * with two requests at a time per endpoint.
 */

import { post } from '@svc/outbound/post.ts'
import type { PosterOrder, PosterReport } from '@svc/test/tools/bench/live/live-webhooks.ts'

const TIMEOUT_MS = 10_000

process.on('message', (order: PosterOrder) => {
  void carryOut(order).then((report) => process.send?.(report))
})

async function carryOut({ urls, count, body, perEndpoint }: PosterOrder): Promise<PosterReport> {
  let [next, delivered] = [0, 0]
  const beganMs = performance.now()
  const run = async ({ hostname, port, pathname }: URL): Promise<void> => {
    const target = { host: hostname, port: Number(port), path: pathname }
    while (next < count) {
      const id = `floor-${next}`
      next += 1
      const headers = { 'content-type': 'application/json', 'x-svc-message-id': id }
      const status = await post({ target, addresses: ['127.0.0.1'], headers, body, timeoutMs: TIMEOUT_MS })
      if (status === 204) delivered += 1
    }
  }
  await Promise.all(urls.flatMap((url) => Array.from({ length: perEndpoint }, () => run(new URL(url)))))
  return { delivered, elapsedMs: performance.now() - beganMs }
}
