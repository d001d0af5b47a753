/**
 * `npx pnpm build` prints the folder of the present sources' build, and makes it first if necessary.
 * `npx pnpm build <folder> [<platform>]` builds into a folder, for an image. The platform is that of the native binding.
 */
import { rmSync } from 'node:fs'
import { findBuild } from './find.ts'

const [folder, platform] = process.argv.slice(2)
if (folder === undefined) console.log(await findBuild())
else {
  const { buildInto } = await import('./build.ts')
  rmSync(folder, { recursive: true, force: true })
  await buildInto(folder, platform)
}
