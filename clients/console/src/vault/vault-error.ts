/**
 * - `wrong_passphrase`: the passphrase does not open the vault.
 * - `weak_passphrase`: a new passphrase is too short.
 * - `exists`: another tab has made a vault meanwhile. Ask for its passphrase.
 * - `locked`: the vault is locked, or was locked or wiped meanwhile. Nothing was done.
 * - `not_a_key_file`: the text is not a key file of the CLI. `message` says what is wrong, and shows none of the text.
 * - `unknown_agent`: the vault has no key of this agent.
 * - `newer_console`: a newer console in another tab has changed the form of the database. Only a reload helps.
 * - `cleared`: the browser has deleted the database while the vault was unlocked.
 * - `replaced`: it did, and another tab has made a new vault since.
 * - `storage_full`: the browser has no room for the data. Nothing was stored.
 * - `storage_failed`: the browser could not read or store the data for another reason. Nothing was done.
 */
export type VaultErrorCode =
  | 'wrong_passphrase'
  | 'weak_passphrase'
  | 'exists'
  | 'locked'
  | 'not_a_key_file'
  | 'unknown_agent'
  | 'newer_console'
  | 'cleared'
  | 'replaced'
  | 'storage_full'
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
