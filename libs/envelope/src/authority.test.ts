import { expect, test } from 'vitest'
import { isSameAuthority } from './address.ts'

test.each([
  ['127.0.0.1:8080', '127.0.0.1:8080', true],
  ['agents.example', 'AGENTS.Example', true],
  ['agents.example', 'agents.example:443', false],
  ['agents.example:8080', 'agents.example:8081', false],
  ['agents.example', 'agents.example.', false],
  ['[::1]:8080', '[::1]:8080', true],
])('spec 6.2: %s and %s are one authority: %s', (a, b, same) => {
  expect(isSameAuthority(a, b)).toBe(same)
})
