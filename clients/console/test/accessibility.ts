/** axe, in the page. It finds most, not all, faults against WCAG 2.2 AA. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from '@svc/test/support/engines/chromium.ts'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Finding {
  readonly id: string
  readonly nodes: { readonly target: unknown; readonly failureSummary: string }[]
}

/** @returns one line for each finding; empty if there are none. */
export async function findBarriers(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("typeof axe !== 'undefined'"))) await page.evaluate(SOURCE)
  const run = `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`
  const findings = await page.evaluate<Finding[]>(run)
  return findings.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id} at ${JSON.stringify(target)}: ${failureSummary.replaceAll('\n', ' ')}`,
    ),
  )
}
