import { expect, test } from 'vitest'
import { addCounts, type ErasureStep, stepAfter } from './erasure-steps.ts'

test('the agent is closed first, messages go before the texts of their deliveries, and identity forgets the agent last', () => {
  const steps: [ErasureStep, number][] = []
  for (let step: ErasureStep = 'close'; step !== 'done'; ) {
    const next = stepAfter(step)
    steps.push([step, next.waitSeconds])
    step = next.step
  }
  expect(steps).toEqual([
    ['close', 0],
    ['closing', 10],
    ['messaging', 10],
    ['webhook', 0],
    ['boards', 0],
    ['budget', 0],
    ['orphans', 0],
    ['finish', 0],
  ])
  expect(stepAfter('done').step).toBe('done')
})

test('counts of several pages are added up, and nothing is reported of a part without any', () => {
  const first = addCounts({}, 'messaging', { messages: 500 })
  const second = addCounts(first, 'messaging', { messages: 3, votes: 1 })
  expect(addCounts(second, 'orphans', {})).toEqual({ messaging: { messages: 503, votes: 1 } })
})
