import { setTimeout as sleep } from 'node:timers/promises'
import { signRequest } from '@svc/svc1/sign.ts'
import type { Actor, Scene } from '../scene.ts'

const LATER_MS = 15_000
const TIMEOUT_MS = 8_000
const TARGET = '/v2/me'

/** An attacker repeats one signed request: through all gateways at once, and again later (spec 3.7). */
export async function replay(scene: Scene, { agent, random }: Actor): Promise<void> {
  const nonce = random.hex(16)
  const { authority } = agent.place
  const headers = { ...signRequest(agent.key, { authority, method: 'GET', target: TARGET, nonce }) }
  const laterMs = random.int(50, LATER_MS)
  const send = async (url: string): Promise<void> => {
    const atMs = Date.now()
    const { status, code } = await answerOf(url, headers)
    scene.history.add({ type: 'replay', nonce, actor: agent.id, atMs, endMs: Date.now(), status, code })
  }
  await Promise.all(scene.urls.map(send))
  await sleep(laterMs)
  await Promise.all(scene.urls.map(send))
}

async function answerOf(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number | null; code: string | undefined }> {
  try {
    const response = await fetch(url + TARGET, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const json = (await response.json()) as { error?: { code?: string } }
    return { status: response.status, code: json.error?.code }
  } catch {
    return { status: null, code: undefined }
  }
}
