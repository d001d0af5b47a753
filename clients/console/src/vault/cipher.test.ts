import { expect, test } from 'vitest'
import { createCipher } from './cipher.ts'
import { newMasterKey } from './header.ts'

const SCOPE = ['agent', 'alice', 'drafts']

test('a record opens at its place, and with its key, and nowhere else', async () => {
  const [cipher, other] = [await createCipher(newMasterKey()), await createCipher(newMasterKey())]
  const place = await cipher.placeOf(SCOPE, 'bob')
  const record = await cipher.seal(place, { text: 'hello' })
  expect(await cipher.open(place, record)).toEqual({ text: 'hello' })
  await expect(cipher.open(await cipher.placeOf(SCOPE, 'carol'), record)).rejects.toMatchObject({
    code: 'storage_failed',
  })
  await expect(other.open(place, record)).rejects.toMatchObject({ code: 'storage_failed' })
  const changed = { ...record, data: record.data.map((byte, index) => (index === 0 ? byte ^ 1 : byte)) }
  await expect(cipher.open(place, changed)).rejects.toMatchObject({ code: 'storage_failed' })
})

test('places are hashes with a key: they differ between vaults, scopes and ids, and show none of them', async () => {
  const [cipher, other] = [await createCipher(newMasterKey()), await createCipher(newMasterKey())]
  const places = await Promise.all([
    cipher.placeOf(SCOPE, 'bob'),
    cipher.placeOf(SCOPE, 'carol'),
    cipher.placeOf(['agent', 'alice', 'sent'], 'bob'),
    other.placeOf(SCOPE, 'bob'),
  ])
  expect(new Set(places).size).toBe(places.length)
  for (const place of places) expect(place).toMatch(/^[0-9a-f]{32}\/[0-9a-f]{32}$/)
  expect(places[0]?.startsWith(await cipher.prefixOf(SCOPE))).toBe(true)
})

test('the same content is encrypted differently each time', async () => {
  const cipher = await createCipher(newMasterKey())
  const place = await cipher.placeOf(SCOPE, 'bob')
  const [first, second] = [await cipher.seal(place, 'x'), await cipher.seal(place, 'x')]
  expect(first.data).not.toEqual(second.data)
})
