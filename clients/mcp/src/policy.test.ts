import { expect, test } from 'vitest'
import { isOffered, type Policy, reasonToAskForCost } from './policy.ts'

const OPEN: Policy = {
  readOnly: false,
  contactsOnly: false,
  requireVerified: false,
  eventText: false,
  askStrangers: true,
  maxUnits: 10,
  maxDailyUnits: undefined,
}

test.each([
  ['no mode', {}, ['read', 'own', 'trust', 'send', 'publish']],
  ['read-only', { readOnly: true }, ['read']],
  // Accepting a contact decides which agents can be written to, so the model must not do it.
  ['contacts-only', { contactsOnly: true }, ['read', 'own', 'send']],
  ['both', { readOnly: true, contactsOnly: true }, ['read']],
] as const)('%s offers only the tools that it allows', (_, modes, offered) => {
  const all = ['read', 'own', 'trust', 'send', 'publish'] as const
  expect(all.filter((reach) => isOffered({ ...OPEN, ...modes }, reach))).toEqual(offered)
})

test.each([
  ['within both ceilings', { units: 10, usedUnits: 90 }, {}, false],
  ['over the ceiling of a call', { units: 11, usedUnits: 0 }, {}, true],
  ['over the free units, so that credits would be spent', { units: 1, usedUnits: 100 }, {}, true],
  ['over a ceiling of the day', { units: 1, usedUnits: 5 }, { maxDailyUnits: 5 }, true],
  [
    'over the free units, but below a higher ceiling of the day',
    { units: 1, usedUnits: 100 },
    { maxDailyUnits: 200 },
    false,
  ],
] as const)('%s', (_, cost, limits, asks) => {
  const reason = reasonToAskForCost({ ...OPEN, ...limits }, { ...cost, freeUnits: 100 })
  expect(reason !== undefined).toBe(asks)
})
