/** deploy/kubernetes/rotate.sh, with a stand-in for `kubectl` that keeps Secrets as files. */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { findTestRun } from '../support/engines/engines.ts'
import { ROOT } from './facts.ts'

/** The program as the image has it. */
const MAKE_SECRETS = join((await findTestRun()).build, 'secrets.js')
const KUBECTL = `#!/bin/sh
echo "kubectl $*" | tr -d '\\n' >>"$STATE/log" && echo >>"$STATE/log"
[ "$1" != --namespace ] || shift 2
case "$*" in
*"$FAIL_AT"*) [ -n "$FAIL_AT" ] && exit 9 ;;
esac
case "$*" in
"get externalsecret"*) [ -e "$STATE/external" ] ;;
"create secret generic"*) echo "$4" "\${5#--from-file=}" ;;
"apply --server-side --force-conflicts"*)
  read -r name folder
  rm -rf "$STATE/secrets/$name" && cp -r "$folder" "$STATE/secrets/$name" ;;
"get secret"*)
  for file in "$STATE/secrets/$3"/*; do echo "\${file##*/} $(base64 -w 0 "$file")"; done ;;
"get pod"*"--output name") printf 'pod/a\\npod/b\\n' ;;
"get pod"*) printf 'a 2020-01-01T00:00:00Z\\nb %s\\n' "\${B_STARTED:-2020-01-01T00:00:00Z}" ;;
logs*nats*) sort -u "$STATE/reloads" ;;
"logs a "*) printf 'nats: uses the new login\\npostgres: uses the new login\\n' ;;
"logs b "*) [ -n "\${B_STARTED:-}" ] || printf 'nats: uses the new login\\npostgres: uses the new login\\n' ;;
exec*reload*)
  # The files of a pod change later than the Secret.
  [ "$(grep -c 'exec.*reload' "$STATE/log")" -lt "\${FILES_LATE:-1}" ] ||
    cp "$STATE/secrets/nats/passwords.conf" "$STATE/pod-passwords"
  echo "Reloaded server configuration (sha256:$(sha256sum <"$STATE/pod-passwords" | cut -d ' ' -f 1))" >>"$STATE/reloads" ;;
esac
`
/** Writes into the store, and does what External Secrets does. */
const PUT = `#!/bin/sh
echo "store $1" >>"$STATE/log"
rm -rf "$STATE/secrets/$1" && cp -r "$SVC_SECRETS/$1" "$STATE/secrets/$1"
`

// A change starts about a hundred programs.
vi.setConfig({ testTimeout: 120_000 })

/** The secrets of a new deployment. Each test changes a copy. */
const first = mkdtempSync(join(tmpdir(), 'svc-rotate-'))
beforeAll(() => {
  const made = spawnSync(process.execPath, [MAKE_SECRETS, first], { encoding: 'utf8' })
  expect(made.stderr).toBe('')
})
afterAll(() => rmSync(first, { recursive: true }))

let state: string
let secrets: string
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'svc-rotate-'))
  onTestFinished(() => rmSync(state, { recursive: true }))
  secrets = join(state, 'folder')
  mkdirSync(join(state, 'bin'))
  for (const [name, text] of [
    ['bin/kubectl', KUBECTL],
    ['put', PUT],
  ] as const) {
    writeFileSync(join(state, name), text)
    chmodSync(join(state, name), 0o755)
  }
  cpSync(first, secrets, { recursive: true })
  cpSync(first, join(state, 'secrets'), { recursive: true })
  cpSync(join(first, 'nats/passwords.conf'), join(state, 'pod-passwords'))
})

/** @returns what it did, without the commands that only look. */
function rotate(name: string, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(join(state, 'log'), '')
  const { status, stderr } = spawnSync('sh', [join(ROOT, 'deploy/kubernetes/rotate.sh'), name], {
    cwd: ROOT,
    encoding: 'utf8',
    env: {
      PATH: `${join(state, 'bin')}:${process.env.PATH}`,
      STATE: state,
      SVC_SECRETS: secrets,
      SVC_MAKE_SECRETS: `${process.execPath} ${MAKE_SECRETS}`,
      SVC_POLL_SECONDS: '0',
      SVC_POLL_ATTEMPTS: '3',
      SVC_KEY_SECONDS: '0',
      FAIL_AT: '',
      ...env,
    },
  })
  const steps = readFileSync(join(state, 'log'), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, step] = /^(?:kubectl (?:--namespace svc )?)?(.*)$/.exec(line) ?? []
      const isLook = step === undefined || /^(get |logs |annotate pod|$)/.test(step)
      return isLook
        ? []
        : [step.replaceAll(/ --(?!selector)[\w-]+(?:[= ]\S+)?/g, '').replace(/force-sync=\d+/, 'force-sync')]
    })
  return { status, stderr, steps }
}

const folder = (name: string): string => readFileSync(join(secrets, name), 'utf8')
const cluster = (name: string): string => readFileSync(join(state, 'secrets', name), 'utf8')

test.each([
  ['messaging/nats-url', /\/\/messaging_b:/, 'nats/messaging-b', ['nats', 'messaging']],
  ['messaging/database-url', /\/\/messaging_b:/, 'messaging-roles/password-b', ['messaging-roles', 'messaging']],
  ['messaging-owner/database-url', /\/\/messaging_owner:/, 'messaging-roles/owner-password', ['messaging-roles']],
])('%s: the URL gets a new password, and the servers get the same', (name, login, password, put) => {
  const before = folder(name)
  const { status, steps } = rotate(name)
  expect(status).toBe(0)
  expect(folder(name)).toMatch(login)
  expect(folder(name)).not.toBe(before)
  expect(folder(name)).toContain(folder(password))
  expect(cluster(name)).toBe(folder(name))
  expect(cluster(password)).toBe(folder(password))
  expect(cluster('nats/passwords.conf')).toContain(folder('nats/messaging-b'))
  for (const secret of put) expect(steps.join('\n')).toContain(`create secret generic ${secret}`)
  expect(existsSync(join(secrets, '.rotating'))).toBe(false)
})

test('the login of svc admin: it is given out when every server knows it', () => {
  const { status, steps } = rotate('admin/nats-url', { FILES_LATE: '7' })
  expect(status).toBe(0)
  expect(cluster('admin/nats-url')).toBe(folder('admin/nats-url'))
  // Two servers: before the change, twice with the old file, and with the new one.
  const given = steps.findIndex((step) => step.startsWith('create secret generic admin'))
  expect(steps.slice(0, given).filter((step) => step.startsWith('exec pod/')).length).toBeGreaterThanOrEqual(7)
})

test.each([
  ['started after the change: it has the new login, and logs no move', '2100-01-01T00:00:00Z', 0],
  ['is older, and does not move', '2020-01-01T00:00:01Z', 1],
])('a pod %s', (_, started, status) => {
  expect(rotate('messaging/nats-url', { B_STARTED: started })).toMatchObject({ status })
})

test('while the cluster does not say which pods there are, no login counts as in use', () => {
  expect(rotate('messaging/database-url', { FAIL_AT: 'go-template={{range .items' })).toMatchObject({ status: 1 })
  expect(rotate('messaging/database-url').status).toBe(0)
})

test('a run that is killed after the change, and before its note, does not change the login twice', () => {
  const inUse = folder('nats/admin')
  const killing = join(state, 'killing')
  writeFileSync(killing, `#!/bin/sh\n${process.execPath} ${MAKE_SECRETS} "$@"\nkill -9 $PPID\n`)
  chmodSync(killing, 0o755)
  expect(rotate('admin/nats-url', { SVC_MAKE_SECRETS: killing }).status).toBe(null)
  expect(rotate('admin/nats-url').status).toBe(0)
  expect(folder('nats/admin')).toBe(inUse)
  expect(cluster('admin/nats-url')).toContain('//admin_b:')
})

test('with Helm: the jobs that make roles come from a file', () => {
  const { steps } = rotate('messaging/database-url', { SVC_MANIFESTS: 'manifests.yaml' })
  expect(steps).toContain('apply manifests.yaml --selector app.kubernetes.io/name=roles-messaging')
})

test('a second change uses the first login again, and changes no password that is in use', () => {
  rotate('messaging/nats-url')
  const used = folder('nats/messaging-b')
  expect(rotate('messaging/nats-url').status).toBe(0)
  expect(folder('messaging/nats-url')).toContain(`//messaging:${folder('nats/messaging')}@`)
  expect(folder('nats/messaging-b')).toBe(used)
})

test.each(['apply --server-side', 'exec pod/a', 'get secret messaging'])(
  'a run that fails at "%s" continues, and changes nothing twice',
  (at) => {
    const inUse = folder('nats/messaging')
    expect(rotate('messaging/nats-url', { FAIL_AT: at }).status).not.toBe(0)
    const changed = folder('nats/messaging-b')
    expect(rotate('budget/nats-url')).toMatchObject({ status: 1, stderr: expect.stringContaining('first finish') })
    expect(rotate('messaging/nats-url').status).toBe(0)
    expect(folder('nats/messaging')).toBe(inUse)
    expect(folder('nats/messaging-b')).toBe(changed)
    expect(cluster('messaging/nats-url')).toContain(`//messaging_b:${changed}@`)
  },
)

test('External Secrets: the store gets the value first, and nothing else writes the Secret', () => {
  writeFileSync(join(state, 'external'), '')
  const refused = rotate('messaging/database-url')
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('set SVC_PUT_SECRET') })
  const { status, steps } = rotate('messaging/database-url', { SVC_PUT_SECRET: join(state, 'put') })
  expect(status).toBe(0)
  expect(steps.slice(0, 4)).toEqual([
    'store messaging-roles',
    'annotate externalsecret messaging-roles force-sync',
    'store messaging',
    'annotate externalsecret messaging force-sync',
  ])
  expect(cluster('messaging/database-url')).toContain(`//messaging_b:${folder('messaging-roles/password-b')}@`)
})

test.each([
  ['identity/challenge-key', 'identity'],
  ['webhook/webhook-secret-key', 'webhook'],
])('%s: every process knows the new key before one uses it', (name, service) => {
  const old = folder(name)
  const { status, steps } = rotate(name)
  expect(status).toBe(0)
  expect(folder(name)).toMatch(/^[0-9a-f]{64}$/)
  expect(folder(name)).not.toBe(old)
  expect(steps.filter((step) => step === `rollout restart deployment ${service}`)).toHaveLength(3)
})

test('a name that does not exist changes nothing', () => {
  for (const name of ['messaging/password', 'nobody/nats-url']) {
    const { status, stderr, steps } = rotate(name)
    expect({ steps, isRefused: status !== 0 }).toEqual({ steps: [], isRefused: true })
    expect(stderr).toContain(`${name} is not in`)
  }
  expect(rotate('messaging/nats-url').status).toBe(0)
})
