import { expect, test } from 'vitest'
import { oneAtATime } from './refresh.ts'

test('calls during a run make it run once more, and never beside itself', async () => {
  const gates: PromiseWithResolvers<void>[] = []
  const refresh = oneAtATime(() => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    return gate.promise
  })
  const first = refresh()
  const others = [refresh(), refresh()]
  expect(gates).toHaveLength(1)
  gates[0]?.resolve()
  await Promise.resolve()
  await new Promise((resolve) => setTimeout(resolve))
  expect(gates).toHaveLength(2)
  gates[1]?.resolve()
  await Promise.all([first, ...others])
  expect(gates).toHaveLength(2)
  void refresh()
  expect(gates).toHaveLength(3)
})
