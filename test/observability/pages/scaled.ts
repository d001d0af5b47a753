/** The committed configuration of Prometheus and Alertmanager, with shorter times. Nothing else of it changes. */
import { parse, stringify } from 'yaml'

/** `30s`, `5m`, `1d`. Not `le="2.5"`, and no part of a name such as `rate5m`. */
const DURATION = /(?<![\w.])(\d+)(ms|s|m|h|d)\b/g
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 }
const KEYS = /^\s*(?:for|keep_firing_for|interval|group_wait|group_interval|repeat_interval):/
/** Windows and offsets of an expression. */
const WINDOWS = /\[[^\]]*\]|offset \w+/g

/** @param factor e.g. 15: a minute becomes 4 s. */
export function scaleDurations(text: string, factor: number): string {
  return text.replace(DURATION, (_, amount: string, unit: string) => {
    const ms = Math.ceil((Number(amount) * (SECONDS[unit] ?? 0) * 1_000) / factor)
    return `${ms}ms`
  })
}

/** Shortens the times of rules, or of routes. */
export function scaleConfig(text: string, factor: number): string {
  return text
    .split('\n')
    .map((line) =>
      KEYS.test(line) ? scaleDurations(line, factor) : line.replace(WINDOWS, (part) => scaleDurations(part, factor)),
    )
    .join('\n')
}

/** Parses, changes and writes YAML. */
export function changeYaml<T>(text: string, change: (value: T) => unknown): string {
  return stringify(change(parse(text) as T))
}
