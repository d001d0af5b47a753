/** The suite against a client that somebody else's program generated from the served `/openapi.json`. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runJudge } from '@svc/test/judges/run-judge.ts'
import { shareSystem } from '@svc/test/support/system/shared-system.ts'
import { expect, test } from 'vitest'
import { runClientSuite } from '../src/client/suite.ts'
import { unexpected } from './expected.ts'

const own = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const COMPILER = { target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], module: 'nodenext', types: [] }

const EXPECTED = {
  'a generated client makes calls, and neither registers, seals, verifies nor handles messages': [
    'signing/registration',
    'sending/sealed',
    'sending/ephemeral-keys',
    'sending/seal-for-nobody',
    'retrying/sealed',
    'retrying/look-up',
    'retrying/registration',
    'reading/handled-once',
    'reading/verified-only',
    'reading/resume',
    'trust/',
    'verifying/',
    'vectors/',
  ],
  'it never repeats a call: its user has to': [
    'retrying/unavailable',
    'retrying/internal',
    'retrying/rate-limited',
    'retrying/lost-request',
    'retrying/lost-answer',
    'retrying/half-answer',
    'retrying/proxy-502',
    'retrying/proxy-503',
    'retrying/proxy-504',
    'retrying/proxy-429',
    'retrying/retry-after-date',
    'retrying/nonce-replayed',
    'retrying/reads',
    'retrying/manifest',
  ],
  'it shows no headers to its user, so there is no clock to correct and no gap to tell': [
    'clock/behind',
    'clock/ahead',
    'clock/warning',
    'reading/gap',
    'streams/gap',
  ],
  'it opens a stream again after a cut, and not after its end': [
    'streams/ended',
    'streams/cursor-frames',
    'streams/empty',
    'streams/repeated',
  ],
  'it opens a stream again after every refusal': ['streams/final'],
}

test('spec 13.2: a client generated from the OpenAPI description passes what a description can say', async () => {
  await using system = await shareSystem('usual')
  const folder = mkdtempSync(join(tmpdir(), 'svc-openapi-'))
  try {
    const description = await fetch(`${system.urls[0]}/openapi.json`)
    writeFileSync(join(folder, 'openapi.json'), await description.text())
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    const settings = { compilerOptions: { ...COMPILER, rootDir: 'api', outDir: 'out' }, include: ['api'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const generated = await runJudge('@hey-api/openapi-ts', ['-i', 'openapi.json', '-o', 'api'], { cwd: folder })
    expect(generated.code, generated.stdout + generated.stderr).toBe(0)
    execFileSync(process.execPath, [own('../../../node_modules/typescript/bin/tsc'), '-p', folder])
    const command = [process.execPath, own('../adapters/openapi.ts'), join(folder, 'out')]
    expect(unexpected(await runClientSuite({ command }), EXPECTED)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
