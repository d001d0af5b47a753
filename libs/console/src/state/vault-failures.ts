import { strings } from '../strings.ts'
import { VaultError } from '../vault/vault-error.ts'
import { explain } from './failures.ts'

/** What to tell a person about an error of the vault. */
export function explainVault(error: unknown): string {
  return error instanceof VaultError ? strings.vaultErrors[error.code] : explain(error)
}
