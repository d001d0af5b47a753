/** The parts of docs/performance.md that commands write, and the part of README.md that quotes them. */

/** A part of the page: its command, and what the command printed on its last run. */
export interface Block {
  readonly name: string
  /** A line for a shell, as readers would type it. */
  readonly command: string
}

const BLOCK = /<!-- run (\S+): (.+) -->\n[\s\S]*?<!-- end of run -->/g
const QUOTED = /<!-- quoted from docs\/performance\.md -->\n[\s\S]*?<!-- end of quote -->/
const CHART = /--chart docs\/(\S+)/

export function blocksOf(page: string): Block[] {
  return [...page.matchAll(BLOCK)].map(([, name = '', command = '']) => ({ name, command }))
}

/**
 * Replaces the last output of a command by its new output.
 * @param setting one line about the day and the machine.
 */
export function fillBlock(page: string, wanted: string, run: { readonly setting: string; readonly output: string }) {
  return page.replaceAll(BLOCK, (old, name: string, command: string) => {
    if (name !== wanted) return old
    const chart = CHART.exec(command)?.[1]
    const parts = [
      `<!-- run ${name}: ${command} -->`,
      ['```sh', command, '```'].join('\n'),
      run.setting,
      readableOf(run.output),
      ...(chart === undefined ? [] : [`![The chart that this command writes](${chart})`]),
      '<!-- end of run -->',
    ]
    return parts.join('\n\n')
  })
}

/** Drops the lines of pnpm and vitest, and the name of the chart. Output without a table keeps its lines. */
function readableOf(output: string): string {
  const lines = output
    .split('\n')
    .filter(
      (line) =>
        !/^(> |\$ |chart: |round of seed|stdout \| | RUN | ✓ | *(Test Files|Tests|Start at|Duration) )/.test(line),
    )
  const text = lines
    .join('\n')
    .replaceAll(/^(\|.*\n)(?=[^|\n])/gm, '$1\n') // else the line would become a row of the table
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
  return text.includes('|') ? text : ['```text', text, '```'].join('\n')
}

/**
 * Replaces the three figures in the README.
 * @throws if the page has no row of the system at 64 connections, or the README has no place for the figures.
 */
export function quoteFigures(readme: string, page: string): string {
  const lines = page.split('\n')
  const row = lines.findIndex((line) => /^\| 64 +\| the system +\|/.test(line))
  if (row === -1) throw new Error('docs/performance.md has no row "64 | the system"')
  const names = cellsOf(lines.slice(0, row).findLast((line) => line.startsWith('| connections')) ?? '')
  const figure = (name: string): string => cellsOf(lines[row] ?? '')[names.indexOf(name)] ?? '?'
  const [ofOneProcess, ofFastify, p50Ms] = [figure('of one process'), figure('of Fastify'), figure('p50 ms')]
  if (!QUOTED.test(readme)) throw new Error('README.md has no place for the figures of docs/performance.md')
  return readme.replace(
    QUOTED,
    `<!-- quoted from docs/performance.md -->

On two cores, which the load generator shares, the system accepts ${ofOneProcess} times as many messages a second as one process
that only verifies and stores them, and ${ofFastify} times as many as Fastify answers with a fixed text. The median latency at 64 connections is
${Math.round(Number(p50Ms))} ms. [docs/performance.md](docs/performance.md) has the commands, the charts and the rest.

<!-- end of quote -->`,
  )
}

function cellsOf(row: string): string[] {
  return row.split('|').map((cell) => cell.trim())
}
