/** The OpenAPI description has the operations that the table of operations has, and no other (spec 1.4). */
import type { Case } from '../../cases/case.ts'
import { check, got } from '../../cases/check.ts'
import { readSections } from '../../report/rules.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'options', 'head', 'trace']
const MANIFEST = 'GET /.well-known/agent.json'

/** The first column of the table. The names of path parameters do not matter. */
function specified(): string[] {
  const table = readSections().get('12.1')?.text ?? ''
  const all = [...table.matchAll(/^\| `([A-Z]+ \S+)`/gm)].map(([, operation = '']) => nameless(operation))
  return all.filter((operation) => operation.includes(' /v2/') || operation === MANIFEST)
}

function nameless(operation: string): string {
  return operation.replaceAll(/\{[^}]*\}/g, '{}')
}

export const DESCRIPTION: Case = {
  id: 'operations/description/complete',
  title: 'The OpenAPI description: it has every operation of the API and the manifest, and no other',
  spec: ['1.4', '12.1'],
  needs: [],
  agents: 0,
  async run({ anonymous, observe }) {
    const { openapi, paths } = await got(anonymous.call('GET', '/openapi.json', { observe }))
    check(openapi, { $match: '^3[.]' }, 'the version of OpenAPI')
    const described = Object.entries(paths as Record<string, object>).flatMap(([path, item]) =>
      METHODS.filter((method) => method in item).map((method) => nameless(`${method.toUpperCase()} ${path}`)),
    )
    check(described.toSorted(), specified().toSorted(), 'the described operations')
  },
}
