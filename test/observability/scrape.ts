import type { TestProcess } from '../support/system/processes.ts'

/** One line of a scrape. */
export interface Sample {
  readonly process: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The metrics on a process's own port. */
export interface Scrapes {
  readonly samples: readonly Sample[]
  /** Types by metric: counter, gauge, histogram, summary. */
  readonly types: ReadonlyMap<string, string>
  /** Help texts by metric. */
  readonly help: ReadonlyMap<string, string>
}

export async function scrapeAll(processes: Iterable<TestProcess>): Promise<Scrapes> {
  const texts = await Promise.all(
    [...processes].map(async (process) => {
      const response = await fetch(`${metricsUrl(process)}/metrics`)
      return { process: process.name, text: await response.text() }
    }),
  )
  const samples = texts.flatMap(({ process, text }) => parseSamples(process, text))
  return { samples, types: readComments('TYPE'), help: readComments('HELP') }

  function readComments(kind: 'TYPE' | 'HELP'): Map<string, string> {
    const pattern = new RegExp(`^# ${kind} (\\S+) (.+)$`, 'gm')
    return new Map(
      texts.flatMap(({ text }) =>
        [...text.matchAll(pattern)].map(([, name = '', value = '']) => [name, value] as const),
      ),
    )
  }
}

/** The address of a process's metrics. The process chose a free port (it was given port 0), and its log shows it. */
export function metricsUrl({ name, log }: TestProcess): string {
  const said = log.find(({ message }) => message === 'metrics')
  if (said === undefined) throw new Error(`${name} has no port for metrics`)
  return `http://127.0.0.1:${said.fields.port}`
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

function parseSamples(process: string, text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
    if (name === undefined) throw new Error(`not a line of a scrape: ${line}`)
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text])
    return { process, name, labels: Object.fromEntries(pairs), value: Number(value) }
  })
}
