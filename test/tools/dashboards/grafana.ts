/** The JSON of a dashboard, as Grafana imports it. */
import type { Board, Panel } from './board.ts'
import { legendOf, scoped } from './queries.ts'

type Json = Readonly<Record<string, unknown>>

const COLUMNS = 24
const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' }

/** What the panels of one kind have in common. */
interface Kind {
  readonly type: string
  readonly width: number
  readonly defaults: Json
  readonly target: Json
  readonly options: Json
}

const STAT: Kind = {
  type: 'stat',
  width: 4,
  defaults: {},
  target: { instant: true },
  options: {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    colorMode: 'value',
    graphMode: 'area',
    textMode: 'auto',
  },
}
const GRAPH: Kind = {
  type: 'timeseries',
  width: 8,
  defaults: { min: 0, custom: { fillOpacity: 8, lineWidth: 1, showPoints: 'never' } },
  target: {},
  options: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
}

/** The file of a dashboard. Every panel has one line, so that a diff shows which panels change. */
export function fileOf(board: Board): string {
  const { uid, title, description } = board
  const properties = {
    uid,
    title,
    description,
    tags: ['svc'],
    timezone: 'utc',
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: variables() },
    annotations: { list: [] },
    links: [toOtherBoards()],
  }
  const lines = Object.entries(properties).map(([name, value]) => `  "${name}": ${JSON.stringify(value)},\n`)
  const panels = panelsOf(board).map((panel, index) => `    ${JSON.stringify({ ...panel, id: index + 1 })}`)
  return `{\n${lines.join('')}  "panels": [\n${panels.join(',\n')}\n  ]\n}\n`
}

/** Each variable lists only what exists under the variables before it. */
function variables(): Json[] {
  const labels = ['namespace', 'job', 'instance']
  const common = { hide: 0, current: {}, options: [] }
  const ofLabels = labels.map((name, index) => {
    const matchers = labels.slice(0, index).map((label) => `${label}=~"$${label}"`)
    const metric = `agentmsg_build_info${index === 0 ? '' : `{${matchers.join(', ')}}`}`
    const definition = `label_values(${metric}, ${name})`
    const query = { definition, query: { query: definition, refId: name }, datasource: DATASOURCE, regex: '' }
    const choice = { refresh: 2, sort: 1, multi: true, includeAll: true, allValue: '.*' }
    return { name, type: 'query', label: name.charAt(0).toUpperCase() + name.slice(1), ...query, ...choice, ...common }
  })
  const source = { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source', refresh: 1 }
  return [{ ...source, ...common }, ...ofLabels]
}

function toOtherBoards(): Json {
  const link = { title: 'Signed agent messaging', type: 'dashboards', tags: ['svc'] }
  return { ...link, asDropdown: true, includeVars: false, keepTime: true }
}

function panelsOf({ stats, graphs, statHeight = 4, graphHeight = 7 }: Board): Json[] {
  const grid = new Grid()
  const add = (panel: Panel, kind: Kind, height: number, component: string | undefined): Json => ({
    ...contentOf(panel, kind, component),
    gridPos: grid.place(panel[3]?.width ?? kind.width, height),
  })
  return [
    ...stats.panels.map((panel) => add(panel, STAT, statHeight, stats.component)),
    ...graphs.flatMap(({ title, component, panels }) => [
      ...(title === undefined ? [] : [headingOf(title, grid.place(COLUMNS, 1))]),
      ...panels.map((panel) => add(panel, GRAPH, graphHeight, component)),
    ]),
  ]
}

/** Fills lines from the left. */
class Grid {
  #x = 0
  #y = 0
  #height = 0

  place(w: number, h: number): Json {
    if (this.#x + w > COLUMNS) {
      this.#x = 0
      this.#y += this.#height
    }
    const position = { h, w, x: this.#x, y: this.#y }
    this.#x += w
    this.#height = h
    return position
  }
}

function headingOf(title: string, gridPos: Json): Json {
  return { title, type: 'row', collapsed: false, panels: [], gridPos }
}

/** The title and the queries come first, because they are what a reader of a diff looks for. */
function contentOf([title, unit, queries, options]: Panel, kind: Kind, component: string | undefined): Json {
  const named = typeof queries === 'string' ? { [legendOf(queries)]: queries } : queries
  const steps = options?.thresholds?.map(([color, value]) => ({ color, value }))
  const thresholds = steps && { mode: 'absolute', steps }
  return {
    title,
    description: options?.description,
    targets: Object.entries(named).map(([legendFormat, query], index) => ({
      legendFormat,
      expr: scoped(query, component),
      refId: 'ABCDEFGH'.charAt(index),
      datasource: DATASOURCE,
      ...kind.target,
    })),
    type: kind.type,
    fieldConfig: { defaults: { unit, ...kind.defaults, thresholds }, overrides: [] },
    options: kind.options,
    datasource: DATASOURCE,
  }
}
