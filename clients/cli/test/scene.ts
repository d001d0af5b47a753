import { startFakeService } from '@svc/sdk/test/fake-service.ts'
import { expect } from 'vitest'
import { type Run, type RunOptions, svc, temporaryFolder } from './run.ts'

/** A service, a folder, and registered agents with their keys in the folder as `<name>.key`. */
export async function startScene(...names: string[]) {
  const folder = temporaryFolder()
  const service = await startFakeService()
  const scene = {
    service,
    folder,
    key: (name: string) => folder.path(`${name}.key`),
    /** Runs a command as the named agent. */
    as: (name: string, args: string, options: RunOptions & { rest?: string[] } = {}): Promise<Run> =>
      svc(['--key', scene.key(name), '--url', service.url, ...args.split(' '), ...(options.rest ?? [])], {
        ...options,
        env: { SVC_STATE_DIR: folder.path('state'), ...options.env },
      }),
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]()
      await service[Symbol.asyncDispose]()
    },
  }
  for (const name of names) {
    await svc(['keygen', '--key', scene.key(name)])
    expect(await scene.as(name, `register ${name}`)).toMatchObject({ exitCode: 0 })
  }
  return scene
}

/** The id of the message that was sent by `send --json`. */
export async function idOf(run: Promise<Run>): Promise<string> {
  const { exitCode, stderr, documents } = await run
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 })
  return String(documents()[0]?.msg_id)
}
