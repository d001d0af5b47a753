/**
 * Text of templates. A tree of YAML holds short marks in place of expressions, because the expressions are no YAML, and a
 * serializer would quote them.
 */
import { stringify } from 'yaml'

const MARK = /HELM-(\d+)-MARK/g
/** The whole line: an item of a list, or an entry of a map. */
const CONTROL_LINE = /^ *(?:- )?CONTROL-(\d+)(?:-\d+: null|: null)?$/gm

const texts: string[] = []

function indexOf(text: string): number {
  return texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1
}

/** A scalar, or a part of one, or a key. */
export function expression(text: string): string {
  return `HELM-${indexOf(text)}-MARK`
}

/**
 * A mark for a line of a template. Use it as an item of a list, or as a key with the value null: the template has the text there, on
 * a line of its own. In a map, `-` and a number after it tell equal lines apart.
 */
export function control(text: string): string {
  return `CONTROL-${indexOf(text)}`
}

/** The expression for a value. `.Values` has names with hyphens, which Go's templates take only as text. */
export function valueExpression(path: readonly string[]): string {
  if (path.every((name) => /^\w+$/.test(name))) return `.Values.${path.join('.')}`
  return `(index .Values ${path.map((name) => JSON.stringify(name)).join(' ')})`
}

export function templateText(tree: unknown): string {
  const textAt = (_: string, index: string): string => texts[Number(index)] ?? ''
  return stringify(tree, { version: '1.1', lineWidth: 0 })
    .replaceAll('{{', '{{ "{{" }}') // Prometheus and Grafana have templates too
    .replace(CONTROL_LINE, textAt)
    .replace(MARK, textAt)
}
