/**
 * The signature of an SQL function: its name, its arguments with their names, types and defaults, and its result. `create or
 * replace function` refuses to change most of it.
 *
 * @param text of the function's file.
 */
export function readSignature(text: string): string {
  const statements = text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ')
  const [, signature] = /create or replace function (.*?) (?:language|set|as) /.exec(statements) ?? []
  if (signature === undefined) throw new Error('the text has no "create or replace function … language"')
  return signature.replaceAll(/\(\s+/g, '(').replaceAll(/\s+\)/g, ')').trim()
}
