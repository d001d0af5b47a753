/** Unit tests of alerts, run by `promtool`, which is part of Debian's package `prometheus`. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'

/** Series by name and labels. The values, one each minute, are in the notation of promtool: `<start>+<step>x<repeats>`. */
export type Series = Readonly<Record<string, string>>

export interface AlertCase {
  /** The time at which to evaluate, counted from the first sample. */
  readonly at: string
  /** One set for each branch of the expression. The alert fires for each of them. */
  readonly fires: readonly Series[]
  /** Sets that are nearly as bad. The alert fires for none of them. */
  readonly quiet: readonly Series[]
}

export interface RuleGroup {
  readonly rules: readonly { readonly alert?: string; readonly record?: string; readonly expr: string }[]
}

/** Undefined if promtool runs. */
export const NO_PROMTOOL =
  spawnSync('promtool', ['--version']).status === 0 ? undefined : 'there is no promtool (apt-get install prometheus)'

const [ILL, WELL] = ['production', 'staging'] as const

/**
 * Tests each alert together with the recorded rules that it reads, but without the other alerts, which would take minutes.
 * @returns the output of promtool; '' if every case came out as expected.
 */
export function runCases(groups: readonly RuleGroup[], cases: Readonly<Record<string, AlertCase>>): string {
  return run(groups, cases, testsOf)
}

/**
 * Runs each case that fires beside a deployment that is well. An alert that mixes deployments does not fire, or it fires
 * without a namespace. Cases without series are left out. @returns as `runCases`.
 */
export function runBesideOthers(groups: readonly RuleGroup[], cases: Readonly<Record<string, AlertCase>>): string {
  return run(groups, cases, (alert, { at, fires, quiet: [well = {}] }) =>
    fires
      .filter((ill) => Object.keys(ill).length > 0)
      .map((ill) =>
        testOf({
          alert,
          at,
          series: { ...inNamespace(ILL, ill), ...inNamespace(WELL, well) },
          expected: { expr: 'group by (namespace)', samples: [`{namespace="${ILL}"}`] },
        }),
      ),
  )
}

function run(
  groups: readonly RuleGroup[],
  cases: Readonly<Record<string, AlertCase>>,
  testsOf: (alert: string, given: AlertCase) => object[],
): string {
  const folder = mkdtempSync(join(tmpdir(), 'promtool-'))
  try {
    const files = Object.entries(cases).map(([alert, given]) => {
      const rules = join(folder, `${alert}.rules.yaml`)
      writeFileSync(rules, stringify({ groups: groupsFor(alert, groups) }))
      const file = join(folder, `${alert}.yaml`)
      writeFileSync(file, stringify({ rule_files: [rules], evaluation_interval: '1m', tests: testsOf(alert, given) }))
      return file
    })
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', ...files], { encoding: 'utf8' })
    return status === 0 ? '' : `${stdout}${stderr}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function groupsFor(alert: string, groups: readonly RuleGroup[]): RuleGroup[] {
  const wanted = groups.flatMap(({ rules }) => rules).find((rule) => rule.alert === alert)
  const readsRecorded = wanted?.expr.includes('svc:') === true
  return groups
    .map((group) => ({
      ...group,
      rules: group.rules.filter((rule) => rule === wanted || (readsRecorded && rule.record !== undefined)),
    }))
    .filter(({ rules }) => rules.length > 0)
}

function testsOf(alert: string, { at, fires, quiet }: AlertCase): object[] {
  return [
    ...fires.map((series) => testOf({ alert, at, series, expected: { expr: 'min', samples: ['{}'] } })),
    ...quiet.map((series) => testOf({ alert, at, series, expected: { expr: 'min', samples: [] } })),
  ]
}

interface PromtoolTest {
  readonly alert: string
  readonly at: string
  readonly series: Series
  /** An aggregation of the firing alerts, and the labels of its samples, each with the value 1. */
  readonly expected: { readonly expr: string; readonly samples: readonly string[] }
}

function testOf({ alert, at, series, expected: { expr, samples } }: PromtoolTest): object {
  return {
    name: `${alert} ${samples.length > 0 ? 'fires' : 'does not fire'}: ${JSON.stringify(series)}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `${expr} (ALERTS{alertname="${alert}", alertstate="firing"})`,
        eval_time: at,
        exp_samples: samples.map((labels) => ({ labels, value: 1 })),
      },
    ],
  }
}

function inNamespace(namespace: string, series: Series): Series {
  return Object.fromEntries(
    Object.entries(series).map(([key, values]) => {
      const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(key) ?? []
      const others = labels.replace(/namespace="\w+",? ?/, '')
      return [`${name}{namespace="${namespace}"${others === '' ? '' : `, ${others}`}}`, values]
    }),
  )
}
