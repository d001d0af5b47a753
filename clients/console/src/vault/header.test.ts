import { expect, test } from 'vitest'
import { checkNewPassphrase, type DeriveKey, newMasterKey, unwrapMasterKey, wrapMasterKey } from './header.ts'

/** Fast, and as sensitive to passphrase and salt as the real one, which runs in the browser tests. */
const derive: DeriveKey = async (passphrase, { salt }) =>
  new Uint8Array(
    await crypto.subtle.digest('SHA-256', Uint8Array.from([...salt, ...new TextEncoder().encode(passphrase)])),
  )
const wrapped = async (passphrase = 'correct horse') => {
  const masterKey = newMasterKey()
  return { masterKey, header: await wrapMasterKey(masterKey, 'vault', passphrase, derive) }
}

test('the passphrase that wrapped the master key unwraps it, however its accents are composed', async () => {
  const { masterKey, header } = await wrapped('caf\u00e9 au lait')
  expect(await unwrapMasterKey(header, 'cafe\u0301 au lait', derive)).toEqual(masterKey)
})

test('salt and nonce are new each time', async () => {
  const [first, second] = [(await wrapped()).header, (await wrapped()).header]
  expect(first.kdf.salt).not.toEqual(second.kdf.salt)
  expect(first.iv).not.toEqual(second.iv)
})

test.each([
  ['another passphrase', 'Correct horse', {}, 'wrong_passphrase'],
  ['a header of another vault', 'correct horse', { vaultId: 'other' }, 'wrong_passphrase'],
  ['a header of a newer console', 'correct horse', { version: 2 }, 'storage_failed'],
] as const)('%s does not open the vault', async (_, passphrase, change, code) => {
  const { header } = await wrapped()
  const changed = { ...header, ...change } as typeof header
  await expect(unwrapMasterKey(changed, passphrase, derive)).rejects.toMatchObject({ code })
})

test.each([
  ['', false],
  ['nine99999', false],
  ['ten1010101', true],
  ['🔑'.repeat(9), false],
  ['🔑'.repeat(10), true],
])('a new passphrase has at least 10 characters: %s', (passphrase, isGood) => {
  const check = expect(() => checkNewPassphrase(passphrase))
  if (isGood) check.not.toThrow()
  else check.toThrow('at least 10')
})
