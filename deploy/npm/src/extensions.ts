/** Builds what hosts install without npm: a Claude plugin and an MCP bundle. Both hold the server as modules that need only Node. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packExtension } from '@anthropic-ai/mcpb/cli'
import { foldersOf, readPackage } from '@svc/build/packages.ts'
import { bundle } from '@svc/build/programs.ts'
import { bundleJson, ENTRY, mcpJson, pluginJson } from './listings.ts'
import type { Published } from './packages.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PLUGIN = join(ROOT, 'deploy/npm/plugin')

/** @param cli the package of `svc`, which has the server. @param folder is emptied first. */
export async function buildPlugin(cli: Published, version: string, folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  cpSync(PLUGIN, folder, { recursive: true })
  await buildServer(cli, folder)
  writeJson(join(folder, '.claude-plugin/plugin.json'), pluginJson(version))
  writeJson(join(folder, '.mcp.json'), mcpJson())
}

/** @param file ends with `.mcpb`. @throws Error if the manifest is not valid. */
export async function buildBundle(cli: Published, version: string, file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mcpb-'))
  try {
    await buildServer(cli, folder)
    writeJson(join(folder, 'manifest.json'), bundleJson(version, cli.engines))
    if (!(await packExtension({ extensionPath: folder, outputPath: file, silent: true })))
      throw new Error(`${file} cannot be packed: mcpb validate says why`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function buildServer({ bin, engines }: Published, folder: string): Promise<void> {
  const server = join(folder, dirname(ENTRY))
  const built = mkdtempSync(join(tmpdir(), 'svc-bundle-'))
  try {
    const entry = `clients/${bin.svc?.replace('@svc/cli/', 'cli/src/')}.ts`
    // In pieces, so that an old Node reads the complaint about itself before it meets what it cannot parse.
    const options = { target: engines.replace('>=', 'node'), splitting: true, sourcemap: false } as const
    const outputs = await bundle({ svc: entry }, built, options)
    cpSync(join(built, 'programs'), server, { recursive: true })
    writeFileSync(join(server, 'LICENSES.txt'), licencesOf(foldersOf(outputs)))
  } finally {
    rmSync(built, { recursive: true })
  }
  writeJson(join(server, 'package.json'), { type: 'module' })
}

/** The licences of the packages in a bundle, which ask to be passed on with them. @throws Error if a package has none. */
function licencesOf(packages: readonly string[]): string {
  const licences = packages.map((folder) => {
    const [file] = readdirSync(join(ROOT, folder)).filter((name) => /^licen[cs]e/i.test(name))
    if (file === undefined) throw new Error(`${folder} has no licence that could be passed on`)
    const { name, version } = readPackage(folder)
    return `${name} ${version}\n\n${readFileSync(join(ROOT, folder, file), 'utf8').trim()}\n`
  })
  return licences.toSorted().join(`\n${'-'.repeat(80)}\n\n`)
}

function writeJson(path: string, value: object): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}
