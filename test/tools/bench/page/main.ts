/**
 * `npx pnpm performance [<name>…]`: runs the commands that docs/performance.md names, and writes their output and charts
 * into the page, and three of the figures into README.md.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, platform } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../../../support/run/command-line.ts'
import { type Block, blocksOf, fillBlock, quoteFigures } from './blocks.ts'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const PAGE = `${ROOT}docs/performance.md`
const README = `${ROOT}README.md`
const CHARTS = `${ROOT}docs/performance`
/** Before a run, the processors are watched for this long. If other programs use more than this share, the page says so. */
const WATCH_MS = 3_000
const IDLE_SHARE = 0.1

const { names } = readCommandLine({
  command: 'npx pnpm performance',
  does: 'Runs the commands of docs/performance.md, and writes their figures and charts into the page and README.md.',
  options: {},
  names: {
    of: blocksOf(readFileSync(PAGE, 'utf8')).map(({ name }) => name),
    several: true,
    what: 'parts of the page; default: all',
  },
})

mkdirSync(CHARTS, { recursive: true })
for (const block of blocksOf(readFileSync(PAGE, 'utf8'))) {
  if (names.length > 0 && !names.includes(block.name)) continue
  const setting = await describeSetting()
  const output = await run(block)
  // Each result is written at once, so that a later failure loses none.
  writeFileSync(PAGE, fillBlock(readFileSync(PAGE, 'utf8'), block.name, { setting, output }))
}
execFileSync(`${ROOT}node_modules/.bin/biome`, ['format', '--write', PAGE], { cwd: ROOT, stdio: 'inherit' })
writeFileSync(README, quoteFigures(readFileSync(README, 'utf8'), readFileSync(PAGE, 'utf8')))

async function describeSetting(): Promise<string> {
  const cores = availableParallelism()
  const share = await busyShare()
  const shared =
    share > IDLE_SHARE ? ` Other programs used ${Math.round(share * 100)} % of them, so these figures say little.` : ''
  const day = new Date().toISOString().slice(0, 10)
  const processor = cpus()[0]?.model.trim() ?? 'an unknown processor'
  return `On ${day}: ${cores} cores of ${processor}, ${platform()} ${arch()}, Node ${process.versions.node}.${shared}`
}

/** The share of all processors that was in use during `WATCH_MS`. */
async function busyShare(): Promise<number> {
  const before = spentMs()
  await sleep(WATCH_MS)
  const after = spentMs()
  return 1 - (after.idle - before.idle) / (after.all - before.all)
}

function spentMs(): { idle: number; all: number } {
  const times = cpus().map((cpu) => cpu.times)
  const all = times.flatMap((each) => Object.values(each)).reduce((sum, ms) => sum + ms, 0)
  return { idle: times.reduce((sum, { idle }) => sum + idle, 0), all }
}

/** Shows the output as it arrives. @throws Error if the command fails for any reason but a bound that was not kept. */
async function run({ name, command }: Block): Promise<string> {
  console.log(`\n${name}: ${command}`)
  const child = spawn(command, { cwd: ROOT, shell: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    process.stdout.write(chunk)
  })
  const [code] = await once(child, 'close')
  const output = Buffer.concat(chunks).toString('utf8')
  if (code !== 0 && !output.includes('BROKEN')) throw new Error(`${command} failed with ${code}`)
  return output
}
