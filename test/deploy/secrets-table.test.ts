import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, readFacts } from './facts.ts'

test('docs/operating/deploy.md lists every secret, and no others', () => {
  const { secretKeys, variables } = readFacts()
  const text =
    readFileSync(join(ROOT, 'docs/operating/deploy.md'), 'utf8').split('## Secrets')[1]?.split('## ')[0] ?? ''
  const services = [...variables.keys()]
  const stores = services.filter((name) => variables.get(name)?.names.includes('SVC_DATABASE_URL'))
  const users = [...services, 'admin']
  const spell = (pattern: string): string[] => {
    if (pattern.includes('<service>')) return services.map((name) => pattern.replace('<service>', name))
    if (pattern.includes('<store>')) return stores.map((name) => pattern.replace('<store>', name))
    return pattern.includes('<user>') ? users.map((name) => pattern.replace('<user>', name)) : [pattern]
  }
  const listed = [...text.matchAll(/^\| `([^`]+)` +\| ([^|]+)\|/gm)].flatMap(([, secret = '', keys = '']) =>
    [...keys.matchAll(/`([^`]+)`/g)].flatMap(([, key = '']) =>
      spell(secret).flatMap((name) => spell(key).map((one) => `${name}/${one}`)),
    ),
  )
  expect(listed.toSorted()).toEqual([...secretKeys].toSorted())
})
