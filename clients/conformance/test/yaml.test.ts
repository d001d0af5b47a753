/** Readers of YAML differ. The case files have only what all of them read alike, because any language may run them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isCollection, parse, parseDocument, visit } from 'yaml'

const folder = join(import.meta.dirname, '..')
const files = globSync('{cases,client-cases,test}/**/*.yaml', { cwd: folder })

test.each(files)('%s: YAML 1.1 and 1.2 mean the same, and no text with ? is unquoted in { } or [ ]', (file) => {
  const text = readFileSync(join(folder, file), 'utf8')
  const document = parseDocument(text, { version: '1.2', strict: true })
  expect([...document.errors, ...document.warnings]).toEqual([])
  expect(parse(text, { version: '1.1' })).toEqual(document.toJS())
  const unquoted: unknown[] = []
  visit(document, {
    Scalar(_, { type, source }, path) {
      const isInFlow = path.some((one) => isCollection(one) && one.flow)
      if (isInFlow && type === 'PLAIN' && source?.includes('?')) unquoted.push(source)
    },
  })
  expect(unquoted).toEqual([])
})
