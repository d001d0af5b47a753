import { expect, test } from 'vitest'
import { explainReset, explainTls } from './tls.ts'

const withCode = (code: string): Error => Object.assign(new Error('a text of OpenSSL'), { code })

test.each([
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'asks for a certificate of this process: name one and its key'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'refuses the certificate in SVC_NATS_CERT_FILE (UNKNOWN_CA)'],
  ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED', 'refuses the certificate in SVC_NATS_CERT_FILE (CERTIFICATE_EXPIRED)'],
  ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', 'refuses the certificate in SVC_NATS_CERT_FILE (BAD_CERTIFICATE)'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'TLS with NATS at nats:4222 fails'],
])('%s is one sentence', (code, sentence) => {
  expect(explainTls(withCode(code), 'nats:4222')).toContain(sentence)
})

test('a reset gets an explanation, and other failures do not', () => {
  expect(explainReset(withCode('ECONNRESET'), 'nats:4222')).toContain('NATS at nats:4222 reset the connection')
  expect(explainReset(withCode('ETIMEDOUT'), 'nats:4222')).toBeUndefined()
  expect(explainTls(withCode('ECONNRESET'), 'nats:4222')).toBeUndefined()
})
