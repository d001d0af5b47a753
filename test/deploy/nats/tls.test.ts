/** Runs components/nats-tls and components/nats-client-tls on three real servers. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readNats } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { connectNats, drainNats } from '@svc/nats/connect.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { expect, test } from 'vitest'
import { type Authority, createAuthority } from '../../support/engines/certificates.ts'
import { findTestRun } from '../../support/engines/engines.ts'
import { type ServerCertificate, startNatsCluster } from '../../support/engines/nats/nats-cluster.ts'
import { eventually } from '../../support/eventually.ts'

async function secretOf(by: Authority, trusts = by): Promise<ServerCertificate> {
  const { cert, key } = await by.issue()
  return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': trusts.cert }
}

/** Connects with the variables of components/nats-client-tls. @returns `connected`, or the reason of the failure. */
async function outcomeOf(url: string, folder: string, certificate: boolean): Promise<string> {
  const env = {
    SVC_NATS_URL: url,
    ...(url.startsWith('tls') ? { SVC_NATS_CA_FILE: join(folder, 'ca.crt') } : {}),
    ...(certificate ? { SVC_NATS_CERT_FILE: join(folder, 'tls.crt'), SVC_NATS_KEY_FILE: join(folder, 'tls.key') } : {}),
  }
  const { natsUrl, natsAccess } = readNats(envReader(env))
  const logger = createLogger('test', 'silent')
  try {
    const options = { url: natsUrl, access: natsAccess, name: 'test', logger, firstConnectMs: 5_000 }
    const nats = await connectNats(options)
    await nats.connection.flush()
    await drainNats(nats)
    return 'connected'
  } catch (error) {
    return (error as Error).message
  }
}

test('clients and routes need a certificate of the authority at both ends', async () => {
  const [authority, stranger] = [await createAuthority(), await createAuthority()]
  const secret = (): Promise<ServerCertificate> => secretOf(authority)
  const certificates = [await secret(), await secret(), await secretOf(stranger, authority)]
  await using cluster = await startNatsCluster(certificates)
  const routes = (): string[] => cluster.lines.filter((line) => line.includes('Route connection created'))
  const refused = (): boolean => cluster.lines.some((line) => /^nats-[01].*TLS route handshake error/.test(line))
  await eventually(() => routes().some((line) => /^nats-[01]/.test(line)) && refused())
  expect(cluster.lines.filter((line) => /JetStream cluster new metadata leader: nats-2/.test(line))).toEqual([])

  const folder = join((await findTestRun()).folder, 'nats-tls')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(await secret())) writeFileSync(join(folder, name), text)
  const url = cluster.urlFor('messaging', 0)
  expect(await outcomeOf(url, folder, true)).toBe('connected')
  expect(await outcomeOf(url, folder, false)).toContain('certificate')
  expect(await outcomeOf(url.replace('tls://', 'nats://'), folder, false)).not.toBe('connected')
  expect(await outcomeOf(cluster.urlFor('messaging', 2), folder, true)).toContain('authority')
})
