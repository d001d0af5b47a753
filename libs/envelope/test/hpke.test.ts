import { Chacha20Poly1305 } from '@hpke/chacha20poly1305'
import { CipherSuite, HkdfSha256 } from '@hpke/core'
import { DhkemX25519HkdfSha256, HkdfSha256 as KemHkdfSha256 } from '@hpke/dhkem-x25519'
import { kemSecret, publicKeyOf } from '@svc/test/judges/panva-hpke.ts'
import { expect, test } from 'vitest'
import { hex, readVectors } from './vectors.ts'

/** Checks the library behind seal.ts against published vectors, because other implementations must interoperate with it. */

interface Group<T> {
  readonly testGroups: readonly (T & { readonly tests: readonly Vector[] })[]
}
type Vector = Record<string, string> & { tcId: number; flags: string[]; size: number }

const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Chacha20Poly1305() })
const text = (bytes: ArrayBuffer | Uint8Array) => Buffer.from(bytes as Uint8Array).toString('hex')
const wycheproof = <T>(name: string) =>
  (JSON.parse(readVectors(`hpke/wycheproof_${name}_test.json`)) as Group<T>).testGroups

test('RFC 9180, appendix A.2, base mode: key schedule, messages and exports', async () => {
  const [vector] = JSON.parse(readVectors('hpke/rfc9180_a2_base_x25519_hkdfsha256_chacha20poly1305.json'))
  const { kem } = suite
  const recipientKey = await kem.deserializePrivateKey(hex(vector.skRm).buffer)
  const recipientPublicKey = await kem.deserializePublicKey(hex(vector.pkRm).buffer)
  const ekm = await kem.deriveKeyPair(hex(vector.ikmE).buffer)
  const info = hex(vector.info)
  const sender = await suite.createSenderContext({ recipientPublicKey, info, ekm })
  const recipient = await suite.createRecipientContext({ recipientKey, enc: hex(vector.enc), info })
  expect(text(sender.enc)).toBe(vector.enc)
  expect(text(await kem.decap({ recipientKey, enc: hex(vector.enc) }))).toBe(vector.shared_secret)
  for (let sequence = 0; sequence <= 256; sequence++) {
    const known = vector.encryptions.find((item: { sequence_number: number }) => item.sequence_number === sequence)
    const { pt, aad, ct } = known ?? vector.encryptions[0]
    const sealed = await sender.seal(hex(pt), hex(aad))
    if (known !== undefined) expect(text(sealed)).toBe(ct)
    expect(text(await recipient.open(sealed, hex(aad)))).toBe(pt)
  }
  for (const { exporter_context, L, exported_value } of vector.exports) {
    expect(text(await sender.export(hex(exporter_context).buffer, L))).toBe(exported_value)
    expect(text(await recipient.export(hex(exporter_context).buffer, L))).toBe(exported_value)
  }
})

test("Wycheproof X25519: every shared secret equals the vector's, and all-zero ones are refused", async () => {
  let refused = 0
  let agreed = 0
  for (const { tests } of wycheproof('x25519')) {
    for (const { tcId, public: enc = '', private: secret = '', shared = '' } of tests) {
      const recipientKey = await suite.kem.deserializePrivateKey(hex(secret).buffer)
      const decapsulated = suite.kem.decap({ recipientKey, enc: hex(enc) })
      if (/^0+$/.test(shared)) {
        await expect(decapsulated, `test ${tcId}`).rejects.toThrow()
        refused++
        continue
      }
      const expected = await kemSecret(hex(shared), hex(enc), publicKeyOf(hex(secret)))
      expect(text(await decapsulated), `test ${tcId}`).toBe(text(expected))
      agreed++
    }
  }
  expect([refused, agreed]).toEqual([31, 487])
}, 60_000)

test('Wycheproof HKDF-SHA-256', async () => {
  const hkdf = new KemHkdfSha256()
  hkdf.init(new Uint8Array())
  let checked = 0
  for (const { tests } of wycheproof('hkdf_sha256')) {
    for (const { tcId, ikm = '', salt = '', info = '', size, okm = '', result } of tests) {
      const prk = await hkdf.extract(hex(salt).buffer, hex(ikm).buffer)
      const expanded = hkdf.expand(prk, hex(info).buffer, size)
      if (result === 'valid') expect(text(await expanded), `test ${tcId}`).toBe(okm)
      else await expect(expanded, `test ${tcId}`).rejects.toThrow()
      checked++
    }
  }
  expect(checked).toBe(86)
})

test('Wycheproof ChaCha20-Poly1305: valid vectors open, and no others', async () => {
  const aead = new Chacha20Poly1305()
  let checked = 0
  for (const { tests } of wycheproof('chacha20_poly1305')) {
    for (const { tcId, key = '', iv = '', aad = '', msg = '', ct = '', tag = '', result } of tests) {
      const opened = Promise.resolve().then(() =>
        aead.createEncryptionContext(hex(key).buffer).open(hex(iv).buffer, hex(ct + tag).buffer, hex(aad).buffer),
      )
      if (result === 'valid') expect(text(await opened), `test ${tcId}`).toBe(msg)
      else await expect(opened, `test ${tcId}`).rejects.toThrow()
      checked++
    }
  }
  expect(checked).toBe(325)
})
