import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createAuthority } from '../../../test/support/engines/certificates.ts'
import { startConfiguredNats } from '../../../test/support/engines/engines.ts'
import { startImpostor } from '../../../test/support/stand-ins/nats-impostor.ts'
import { checkNats } from '../src/engines/check-nats.ts'

test('an external NATS gets no password without the TLS that its URL requires', async () => {
  await using server = await startImpostor()
  const natsUrl = `tls://admin:secret@localhost:${server.port}`
  await expect(checkNats({ natsUrl })).rejects.toThrow(`NATS at localhost:${server.port} offers no TLS`)
  expect([server.connections(), server.received()]).toEqual([1, ''])
})

test('an external NATS is verified against the authority in SVC_NATS_CA_FILE, like the services do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-check-nats-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const authority = await createAuthority()
  const file = join(folder, 'ca')
  writeFileSync(file, authority.cert)
  const config = 'tls { cert_file: "$FOLDER/cert", key_file: "$FOLDER/key" }'
  await using server = await startConfiguredNats(config, await authority.issue())
  const natsUrl = `tls://localhost:${server.port}`
  await expect(checkNats({ natsUrl })).rejects.toThrow('SVC_NATS_CA_FILE')
  await checkNats({ natsUrl, natsAccess: { files: { SVC_NATS_CA_FILE: file } } })
})
