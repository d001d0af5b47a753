import { fileOf } from './grafana.ts'
import { OBJECTIVES } from './objectives.ts'
import { OVERVIEW } from './overview.ts'
import { SERVICES } from './services.ts'

export const FOLDER = new URL('../../../deploy/observability/dashboards/', import.meta.url)

/** Each dashboard's text by the name of its file. */
export function dashboardFiles(): Map<string, string> {
  return new Map([OVERVIEW, OBJECTIVES, ...SERVICES].map((board) => [`${board.uid}.json`, fileOf(board)]))
}
