import { isAgentName } from '@svc/contracts/ids.ts'
import { readVectors } from '@svc/test/support/vectors.ts'
import { describe, expect, test } from 'vitest'
import { DEFAULT_RESERVED_NAMES, reservedNames } from './reserved-names.ts'

interface Kind {
  kind: string
  reserved?: string[]
  valid: { text: string }[]
  refused: { text: string }[]
}
const { kinds } = readVectors<{ kinds: Kind[] }>('texts.json')
const { reserved = [], valid, refused } = kinds.find(({ kind }) => kind === 'reserved name') ?? expect.unreachable()

describe('spec 5.6: reserved names', () => {
  test.each([...valid.map(({ text }) => [text, false] as const), ...refused.map(({ text }) => [text, true] as const)])(
    '%s: %s',
    (name, isReserved) => {
      expect(isAgentName(name)).toBe(true)
      expect(reservedNames(reserved)(name)).toBe(isReserved)
    },
  )

  test('an operator may reserve none', () => {
    expect(reservedNames([])('admin')).toBe(false)
  })

  test('every default name is a valid name, and no two of them look alike', () => {
    expect(DEFAULT_RESERVED_NAMES.filter((name) => !isAgentName(name))).toEqual([])
    for (const name of DEFAULT_RESERVED_NAMES) {
      expect(reservedNames(DEFAULT_RESERVED_NAMES.filter((other) => other !== name))(name)).toBe(false)
    }
  })
})
