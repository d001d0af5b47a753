/** PromQL that many panels share, and the limits that every query gets. */

/** Grafana replaces it by an interval that fits the time range and the scrapes. */
const RATE = '$__rate_interval'
/** Every panel follows the variables of its dashboard. */
const VARIABLES = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
/** A metric of a process, with the braces after it. Recorded rules have a colon in their names and are left alone. */
const SELECTOR = /\b((?:agentmsg|process|nodejs)_\w+)(?:\{(.*?)\})?/g

/** @param by labels to keep, as in PromQL. */
export function perSecond(counter: string, by?: string): string {
  return `sum${by === undefined ? '' : ` by (${by}) `}(rate(${counter}[${RATE}]))`
}

/** @param buckets the metric that ends in `_bucket`. */
export function quantile(q: number, buckets: string, by?: string): string {
  return `histogram_quantile(${q}, ${perSecond(buckets, by === undefined ? 'le' : `le, ${by}`)})`
}

/** The mean of a histogram or summary, without `_sum` and `_count` in its name. */
export function mean(metric: string, matchers: string, by?: string): string {
  return `${perSecond(`${metric}_sum${matchers}`, by)} / ${perSecond(`${metric}_count${matchers}`, by)}`
}

/** Limits each metric in an expression to what the variables of the dashboard select, and to one service. */
export function scoped(expression: string, component?: string): string {
  const first = component === undefined ? [] : [`component="${component}"`]
  return expression.replace(SELECTOR, (_, metric: string, own?: string) => {
    return `${metric}{${[...first, ...(own === undefined ? [] : [own]), VARIABLES].join(', ')}}`
  })
}

/** The labels by which the result is split. `le` is gone in a quantile. */
export function legendOf(expression: string): string {
  const [, by] = / by \((.+?)\)/.exec(expression) ?? []
  if (by === undefined) throw new Error(`${expression} keeps no label, so it needs a legend`)
  const labels = by.split(', ').filter((label) => label !== 'le')
  return labels.map((label) => `{{${label}}}`).join(' ')
}
