import type { IncomingMessage } from 'node:http'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Operation, RawInput } from '../api/operation.ts'
import {
  type Credentials,
  checkSignature,
  checkTimestamp,
  getKeyOfBody,
  getSignerKey,
  readCredentials,
} from './checks.ts'
import type { Directory } from './directory.ts'
import { missingSignature } from './faults.ts'
import type { RefusedSignatures } from './refused-signatures.ts'
import type { Verifier } from './verifier.ts'

export interface VerifyDeps {
  readonly directory: Directory
  readonly verifier: Verifier
  readonly refused: Pick<RefusedSignatures, 'note'>
  /** The public authority, which is the second line of the signed string. */
  readonly authority: string
}

interface Signed {
  readonly raw: IncomingMessage
  readonly operation: Operation
  readonly input: RawInput
}

/**
 * Steps 4 to 7 of spec 3.5, from header syntax to signature. @returns null for an anonymous caller, if the operation
 * allows it.
 */
export async function verifySigner(
  { directory, verifier, refused, authority }: VerifyDeps,
  { raw, operation, input }: Signed,
  context: CallContext,
): Promise<Credentials | null> {
  const credentials = readCredentials(raw)
  if (credentials === undefined) {
    if (operation.auth === 'required') throw missingSignature(raw)
    return null
  }
  checkTimestamp(credentials, Date.now())
  const key =
    operation.keyFrom === 'body'
      ? getKeyOfBody(credentials, input.body)
      : await getSignerKey(directory, credentials, context)
  const request = { authority, method: raw.method ?? '', target: input.target, body: input.body.bytes }
  try {
    await checkSignature(verifier, key, credentials, request)
  } catch (error) {
    // A key of the body need not be registered.
    if (error instanceof ServiceError && error.code === 'signature_invalid' && operation.keyFrom === 'directory')
      refused.note(credentials.agentId)
    throw error
  }
  return credentials
}
