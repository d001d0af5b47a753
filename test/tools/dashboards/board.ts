/** Dashboards as tables of panels. */

type Unit = 'bytes' | 'ops' | 'percentunit' | 'reqps' | 's' | 'short'

/** A colour, and the value from which on it is used. The first has no value. */
type Threshold = readonly [color: string, from: number | null]

interface Options {
  readonly description?: string
  /** Of the 24 columns of a dashboard. */
  readonly width?: number
  readonly thresholds?: readonly Threshold[]
}

/** PromQL by its legend. A single query can do without: its legend has the labels of its first `by`. */
type Queries = string | Readonly<Record<string, string>>

/** The queries leave out what `scoped` adds. */
export type Panel = readonly [title: string, unit: Unit, queries: Queries, options?: Options]

interface Section {
  /** Without a title, the panels follow those before. */
  readonly title?: string
  /** The service to which all queries of this section are limited. */
  readonly component?: string
  readonly panels: readonly Panel[]
}

export interface Board {
  readonly uid: string
  readonly title: string
  readonly description: string
  /** Single numbers at the top. */
  readonly stats: Section
  readonly graphs: readonly Section[]
  readonly statHeight?: number
  readonly graphHeight?: number
}

export function redFrom(value: number): Threshold[] {
  return [
    ['green', null],
    ['red', value],
  ]
}
