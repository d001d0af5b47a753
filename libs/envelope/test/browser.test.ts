import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const SOURCES = new URL('../src/', import.meta.url)
const files = readdirSync(SOURCES).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))

test.each(files)(
  '%s runs in browsers: it imports nothing of Node, and only numbers and names of the contracts',
  (name) => {
    const source = readFileSync(new URL(name, SOURCES), 'utf8')
    expect(source).not.toMatch(/from 'node:|import\('node:|\bprocess\.|\bBuffer\.|require\(/)
    expect(
      source.match(
        /from '@svc\/contracts\/(?!(?:limits|message-operation)\.ts)|from '@svc\/svc1\/(?:verify-node|assert-verifier)\.ts/g,
      ),
    ).toBeNull()
  },
)
