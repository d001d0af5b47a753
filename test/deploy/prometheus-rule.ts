/** `node test/deploy/prometheus-rule.ts` writes the rules of deploy/observability as a PrometheusRule for deploy/kubernetes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'

export const RULE_FILE = new URL('../../deploy/kubernetes/components/monitoring/prometheus-rule.yaml', import.meta.url)
const RULES = new URL('../../deploy/observability/rules/svc-alerts.yaml', import.meta.url)

const HEAD = `# Written by \`npx pnpm exec node test/deploy/prometheus-rule.ts\` from deploy/observability/rules: change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: svc-alerts
  labels:
    app.kubernetes.io/part-of: signed-agent-messaging
spec:
`

/** Kustomize takes files in as text alone, and a PrometheusRule has them as objects: the same lines, two spaces further in. */
export function prometheusRule(): string {
  const rules = readFileSync(RULES, 'utf8')
  const body = rules.slice(rules.indexOf('groups:'))
  const text = HEAD + body.replace(/^(?=.)/gm, '  ')
  if (JSON.stringify(parse(text).spec) !== JSON.stringify(parse(rules)))
    throw new Error('the rules are not taken over as they are')
  return text
}

if (import.meta.main) writeFileSync(RULE_FILE, prometheusRule())
