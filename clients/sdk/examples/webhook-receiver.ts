import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { AgentClient, createWebhookHandler, parseKey } from '@svc/sdk'

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const bob = new AgentClient({ url, key: parseKey(readFileSync('bob.key', 'utf8')) })
const handler = createWebhookHandler({
  secret: readFileSync('bob.secret', 'utf8').trim(),
  address: await bob.address(), // refuses what is addressed to another
  async onMessage({ envelope }) {
    const { body } = await bob.open(envelope, { sender: 'alice' }) // verifies her signature
    console.log('received', body) // store it here; if this throws, the service retries
  },
})
const certificate = { key: readFileSync('hook-key.pem'), cert: readFileSync('hook-cert.pem') }
createServer(certificate, handler).listen(Number(process.env.HOOK_PORT ?? 8443), '127.0.0.1', () =>
  console.log('listening'),
)
