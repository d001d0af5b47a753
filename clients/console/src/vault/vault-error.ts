/**
 * - `wrong_passphrase`: the passphrase does not open the vault.
 * - `weak_passphrase`: a new passphrase is too short.
 * - `exists`: another tab has made a vault meanwhile. Ask for its passphrase.
 * - `locked`: the vault is locked, or was locked meanwhile. Nothing was done.
 * - `not_a_key_file`: the text is not a key file of the CLI. `message` says what is wrong, and shows none of the text.
 * - `unknown_agent`: the vault has no key of this agent.
 * - `storage_failed`: the browser could not read or store the data, for example because the disk is full. Nothing was
 *   done.
 */
type VaultErrorCode =
  | 'wrong_passphrase'
  | 'weak_passphrase'
  | 'exists'
  | 'locked'
  | 'not_a_key_file'
  | 'unknown_agent'
  | 'storage_failed'

/** A call of the vault failed. The message never shows a secret. */
export class VaultError extends Error {
  override name = 'VaultError'
  readonly code: VaultErrorCode

  constructor(code: VaultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
