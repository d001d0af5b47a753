/**
 * `npx pnpm build` builds the present sources, if that was not done yet, and prints the folder of the build.
 * `npx pnpm build <folder> [<platform>]` builds into a folder, for an image; the platform is that of the native binding.
 */
import { rmSync } from 'node:fs'
import { buildInto, findBuild } from './build.ts'

const [folder, platform] = process.argv.slice(2)
if (folder === undefined) console.log(await findBuild())
else {
  rmSync(folder, { recursive: true, force: true })
  await buildInto(folder, platform)
}
