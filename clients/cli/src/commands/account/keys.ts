import { createPrivateKey } from 'node:crypto'
import { type AgentKey, generateKey, keyFromSeed, parseKey, seedOf } from '@svc/sdk/keys.ts'
import type { Command } from 'commander'
import { contextOf } from '../../context.ts'
import { writeKeyFile, writeSecretFile } from '../../files/key-file.ts'
import { type Io, readTextOf, UsageError } from '../../io.ts'
import { columns } from '../../output/output.ts'

export function addKeygen(program: Command, io: Io): void {
  program
    .command('keygen')
    .description('make a key, in a new file that only its owner can read')
    .addHelpText(
      'after',
      `
Anyone who has the file can act as the agent. A lost file cannot be recovered, so keep a copy.

Examples:
  svc keygen --key alice.key
  SVC_KEY=alice.key svc keygen --json`,
    )
    .action((_options: object, command: Command) => {
      const context = contextOf(io, command)
      const path = context.keyPath()
      const key = generateKey()
      writeKeyFile(path, key)
      context.out.print({ ...publicPart(key), file: path }, columns({ ...publicPart(key), file: path }), key.agentId)
    })
}

export function addKey(program: Command, io: Io): void {
  const group = program
    .command('key')
    .description('show, export or import a key')
    .addHelpText('after', '\nExample:\n  svc key show --key alice.key')

  group
    .command('show')
    .description('agent id and public key of a key file; works offline')
    .addHelpText('after', '\nExample:\n  svc key show --key alice.key')
    .action((_options: object, command: Command) => {
      const context = contextOf(io, command)
      const key = context.key()
      context.out.print(publicPart(key), columns(publicPart(key)), key.agentId)
    })

  group
    .command('export')
    .description('write the secret key in another form, for other tools')
    .option('--pem', 'PKCS #8 in PEM, which openssl reads')
    .option('--seed', '64 hex digits')
    .option('--out <file>', 'write to a new file that only its owner can read; default: standard output')
    .addHelpText(
      'after',
      `
Examples:
  svc key export --pem --out alice.pem --key alice.key
  svc key export --seed --key alice.key`,
    )
    .action((options: { pem?: boolean; seed?: boolean; out?: string }, command: Command) => {
      const context = contextOf(io, command)
      if (options.pem === options.seed) throw new UsageError('use either --pem or --seed')
      const key = context.key()
      const text = options.pem === true ? pemOf(key) : `${seedOf(key)}\n`
      if (options.out === undefined) context.out.raw(text)
      else writeSecretFile(options.out, text)
    })

  group
    .command('import')
    .argument('<file>', 'the file to read; - for standard input')
    .description('make a key file from the key of another tool: PEM, 64 hex digits, or a key file')
    .addHelpText(
      'after',
      `
Examples:
  openssl genpkey -algorithm ed25519 -out alice.pem && svc key import alice.pem --key alice.key
  svc key import - --key alice.key < seed.hex`,
    )
    .action(async (file: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const path = context.keyPath()
      const key = parseForeignKey(await readTextOf(file, io), file)
      writeKeyFile(path, key)
      context.out.print({ ...publicPart(key), file: path }, columns({ ...publicPart(key), file: path }), key.agentId)
    })
}

function publicPart({ agentId, pubkey }: AgentKey): { agent_id: string; pubkey: string } {
  return { agent_id: agentId, pubkey }
}

/** @throws UsageError that never shows the text. */
function parseForeignKey(text: string, file: string): AgentKey {
  try {
    if (text.includes('-----BEGIN')) return keyFromSeed(seedOfPem(text))
    return /^\s*[0-9a-fA-F]{64}\s*$/.test(text) ? keyFromSeed(text.trim()) : parseKey(text)
  } catch (cause) {
    throw new UsageError(`${file} has no Ed25519 key: ${(cause as Error).message}`, { cause })
  }
}

function seedOfPem(pem: string): Uint8Array {
  const { crv, d } = createPrivateKey(pem).export({ format: 'jwk' })
  if (crv !== 'Ed25519' || d === undefined) throw new TypeError('the PEM has a key of another type')
  return Buffer.from(d, 'base64url')
}

function pemOf(key: AgentKey): string {
  const [d, x] = [key.secretKey, key.publicKey].map((bytes) => Buffer.from(bytes).toString('base64url'))
  const jwk = { kty: 'OKP', crv: 'Ed25519', ...(d === undefined ? {} : { d }), ...(x === undefined ? {} : { x }) }
  return createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'pkcs8', format: 'pem' }).toString()
}
