/** The metrics and labels that a PromQL expression uses, found with the grammar of Prometheus's own user interface. */
import { parser } from '@prometheus-io/lezer-promql'

export interface Selector {
  readonly metric: string
  readonly matchers: readonly Matcher[]
}

export interface Matcher {
  readonly label: string
  readonly operator: '=' | '!=' | '=~' | '!~'
  readonly value: string
}

interface Query {
  readonly selectors: readonly Selector[]
  /** Labels of `by`, `without`, `on`, `ignoring`, `group_left`. */
  readonly labels: readonly string[]
}

/** @throws SyntaxError if the text is not PromQL. */
export function parsePromql(expression: string): Query {
  // Replaces Grafana's variables.
  const text = expression.replaceAll('$__rate_interval', '5m')
  const selectors: { metric: string; matchers: Matcher[] }[] = []
  const labels: string[] = []
  parser.parse(text).iterate({
    enter: ({ type, from, to, node }) => {
      if (type.isError) throw new SyntaxError(`${expression}: not PromQL at ${from}`)
      const part = text.slice(from, to)
      if (type.name === 'VectorSelector') selectors.push({ metric: '', matchers: [] })
      // Inside a selector this is the metric. Elsewhere the grammar uses other names for it.
      else if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        const selector = selectors.at(-1)
        if (selector !== undefined) selector.metric = part
      } else if (type.name === 'UnquotedLabelMatcher') selectors.at(-1)?.matchers.push(matcherOf(part))
      else if (type.name === 'LabelName' && node.parent?.name === 'GroupingLabels') labels.push(part)
    },
  })
  return { selectors, labels }
}

function matcherOf(text: string): Matcher {
  const [, label = '', operator = '', value = ''] = /^(\w+)\s*(=~|!~|!=|=)\s*["'](.*)["']$/.exec(text) ?? []
  if (label === '') throw new SyntaxError(`${text}: not a matcher`)
  return { label, operator: operator as Matcher['operator'], value }
}

export function matches({ operator, value }: Matcher, actual: string): boolean {
  const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(actual) : actual === value
  return operator.startsWith('=') ? isEqual : !isEqual
}
