import { readFileSync } from 'node:fs'

/** A file of docs/vectors. */
export function readVectors<Shape>(name: string): Shape {
  return JSON.parse(readFileSync(new URL(`../../docs/vectors/${name}`, import.meta.url), 'utf8')) as Shape
}
