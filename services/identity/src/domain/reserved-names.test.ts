import { isAgentName } from '@svc/contracts/ids.ts'
import { describe, expect, test } from 'vitest'
import { DEFAULT_RESERVED_NAMES, reservedNames } from './reserved-names.ts'

describe('spec 5.6: reserved names', () => {
  test.each([
    ['admin', true],
    ['adm1n', true],
    ['admln', true],
    ['a-d_m-i_n', true],
    ['admin--', true],
    ['admin__', true],
    ['r00t', true],
    ['ro-0t', true],
    ['support', true],
    ['supp0rt', true],
    ['he1p', true],
    ['0peratorr', false],
    ['0perator', true],
    ['postmaster', true],
    ['security', true],
    ['s-v-c', true],
    // The shape of a name is the whole name: a part of it, a doubled letter or one more character makes another name.
    ['administration', false],
    ['admin2', false],
    ['admin1', false],
    ['the-admin', false],
    ['root-cause', false],
    ['roots', false],
    ['alice', false],
    ['001', false],
  ])('%s: %s', (name, reserved) => {
    expect(isAgentName(name)).toBe(true)
    expect(reservedNames(DEFAULT_RESERVED_NAMES)(name)).toBe(reserved)
  })

  test('a reserved name with digits or separators covers its look-alikes too', () => {
    const isReserved = reservedNames(['acme_bot-10'])
    expect(['acme_bot-10', 'acmebot10', 'acme-b0t-io', 'acme-bot'].map(isReserved)).toEqual([true, true, true, false])
    expect(reservedNames([])('admin')).toBe(false)
  })

  test('every default name is a valid name, and no two of them look alike', () => {
    expect(DEFAULT_RESERVED_NAMES.filter((name) => !isAgentName(name))).toEqual([])
    for (const name of DEFAULT_RESERVED_NAMES) {
      expect(reservedNames(DEFAULT_RESERVED_NAMES.filter((other) => other !== name))(name)).toBe(false)
    }
  })
})
