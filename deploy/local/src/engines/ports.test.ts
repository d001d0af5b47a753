import { expect, test } from 'vitest'
import { findFreePort } from './ports.ts'

// Of 400 random ports out of 12,000, about seven would come twice.
test('a process gets no port twice, because a server may start on its port much later', async () => {
  const ports: number[] = []
  for (let at = 0; at < 100; at += 1) {
    const first = await findFreePort(4)
    ports.push(first, first + 1, first + 2, first + 3)
  }
  expect(new Set(ports).size).toBe(ports.length)
})
