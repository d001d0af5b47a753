import { expect, test } from 'vitest'
import { connectionOf } from './connection.ts'

test.each([
  ['ok', true, 'live', 'live', 'live'],
  ['ok', true, 'polling', 'live', 'polling'],
  ['ok', true, 'catching_up', 'reconnecting', 'catchingUp'],
  ['ok', true, 'offline', 'reconnecting', 'reconnecting'],
  ['ok', true, undefined, 'reconnecting', 'reconnecting'],
  ['ok', true, 'stopped', 'offline', 'stopped'],
  ['failing', true, 'live', 'offline', 'offline'],
  ['failing', true, 'polling', 'offline', 'offline'],
  ['failing', true, 'offline', 'offline', 'offline'],
  ['failing', false, 'live', 'offline', 'noNetwork'],
  ['failing', true, 'stopped', 'offline', 'stopped'],
  // The browser says that it has no network, and the service answers nevertheless.
  ['ok', false, 'live', 'live', 'live'],
] as const)('requests %s, network %s, stream %s: %s (%s)', (health, isOnline, stream, state, hint) => {
  expect(connectionOf({ health, isOnline, stream })).toEqual({
    state,
    word: stream === 'polling' && state === 'live' ? 'polling' : state,
    hint,
  })
})
