import { randomBytes } from 'node:crypto'
import { type Service, startService } from '@svc/sdk/test/agents.ts'
import { expect } from 'vitest'
import { type Run, type RunOptions, svc, temporaryFolder } from './run.ts'

/** Names in tests. Tests share a system where a name is given only once, so commands get longer ones. */
const NAMES = /\b(alice|bob|carol|dora|mallory|other)\b(?!\.(?:key|example)|-[0-9a-f]{12})/g

interface Scene extends AsyncDisposable {
  readonly service: Service
  readonly folder: ReturnType<typeof temporaryFolder>
  /** The name that this system knows. */
  name(plain: string): string
  /** Runs a command with longer names. The output has the plain names again, except for `raw`. */
  run(args: readonly string[], options?: RunOptions): Promise<Run & { readonly raw: string }>
}

/** The shared system behind a proxy, and a folder. */
export async function startPlace(): Promise<Scene> {
  const folder = temporaryFolder()
  const service = await startService()
  const suffix = `-${randomBytes(6).toString('hex')}`
  const longer = (text: string): string => text.replaceAll(NAMES, `$1${suffix}`)
  return {
    service,
    folder,
    name: longer,
    async run(args, { stdin, ...options } = {}) {
      const {
        stdout: raw,
        stderr,
        exitCode,
      } = await svc(
        args.map((arg) => (arg.includes('/') && !arg.startsWith('{') ? arg : longer(arg))),
        {
          ...options,
          ...(typeof stdin === 'string' ? { stdin: longer(stdin) } : stdin === undefined ? {} : { stdin }),
        },
      )
      const stdout = raw.replaceAll(suffix, '')
      const lines = stdout.split('\n').filter((line) => line !== '')
      return {
        exitCode,
        stdout,
        stderr: stderr.replaceAll(suffix, ''),
        raw,
        documents: <T>() => lines.map((line) => JSON.parse(line) as T),
      }
    },
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

/** A place with registered agents, whose keys are in the folder as `<name>.key`. */
export async function startScene(...names: string[]) {
  const place = await startPlace()
  const scene = {
    ...place,
    key: (name: string) => place.folder.path(`${name}.key`),
    /** Runs a command as the named agent. */
    as: (name: string, args: string, { rest = [], env, ...options }: RunOptions & { rest?: string[] } = {}) =>
      place.run(['--key', scene.key(name), '--url', place.service.url, ...args.split(' '), ...rest], {
        ...options,
        env: { SVC_STATE_DIR: place.folder.path('state'), ...env },
      }),
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
