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

/** PromQL by its legend. The legend of a single query may be left out: it then has the labels of the first `by`. */
type Queries = string | Readonly<Record<string, string>>

/** The queries have no matchers for the dashboard's variables and for the service: `scoped` adds them. */
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
