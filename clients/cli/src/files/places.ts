/** The folders of svc on this platform: one for the user's settings, one for state (cursors, dead letters). */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Io } from '../io.ts'

type Env = Io['env']

/** For profiles and keys. `SVC_CONFIG_DIR` names another folder. */
export function configFolder(env: Env): string {
  if (isSet(env.SVC_CONFIG_DIR)) return resolve(env.SVC_CONFIG_DIR)
  return placeOf(env, 'XDG_CONFIG_HOME', ['.config'])
}

/** The key file of an agent, unless its user names another one. @param folder for profiles and keys. */
export function defaultKeyPath(folder: string, name: string): string {
  return join(folder, 'keys', `${name}.key`)
}

/** For the state of listeners. `SVC_STATE_DIR` names another folder. */
export function stateFolder(env: Env): string {
  if (isSet(env.SVC_STATE_DIR)) return resolve(env.SVC_STATE_DIR)
  return placeOf(env, 'XDG_STATE_HOME', ['.local', 'state'])
}

function placeOf(env: Env, variable: string, underHome: string[]): string {
  const home = isSet(env.HOME) ? env.HOME : homedir()
  if (process.platform === 'win32')
    return join(isSet(env.APPDATA) ? env.APPDATA : join(home, 'AppData', 'Roaming'), 'svc')
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'svc')
  const named = env[variable]
  return join(isSet(named) ? named : join(home, ...underHome), 'svc')
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}
