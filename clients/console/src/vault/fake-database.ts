/** A database of the vault in memory, for tests, which fails as a browser does. */
import type { SealedRecord } from './cipher.ts'
import { type VaultDatabase, whyAbsent } from './database.ts'
import type { VaultHeader } from './header.ts'
import { VaultError, type VaultErrorCode } from './vault-error.ts'

const ABSENCES = { wiped: 'locked', cleared: 'cleared', replaced: 'replaced' } as const

export class FakeDatabase implements VaultDatabase {
  readonly records = new Map<string, SealedRecord>()
  header: VaultHeader | undefined
  wiped: string[] = []
  /** What every write fails with. */
  failure: VaultErrorCode | undefined

  constructor(header: VaultHeader) {
    this.header = header
  }

  /** What a browser does that needs space. */
  lose(): void {
    this.header = undefined
    this.wiped = []
    this.records.clear()
  }

  async readHeader(): Promise<VaultHeader | undefined> {
    return this.header
  }

  async addHeader(header: VaultHeader): Promise<void> {
    if (this.header !== undefined) throw new VaultError('exists', 'there is a vault')
    this.header = header
  }

  async replaceHeader(header: VaultHeader): Promise<void> {
    this.#check(header.vaultId)
    this.header = header
  }

  async read(vaultId: string, place: string): Promise<SealedRecord | undefined> {
    this.#check(vaultId)
    return this.records.get(place)
  }

  async list(vaultId: string, prefix: string): Promise<{ place: string; record: SealedRecord }[]> {
    this.#check(vaultId)
    return [...this.records].filter(([place]) => place.startsWith(prefix)).map(([place, record]) => ({ place, record }))
  }

  async write(vaultId: string, changes: Parameters<VaultDatabase['write']>[1]): Promise<void> {
    this.#check(vaultId)
    if (this.failure !== undefined) throw new VaultError(this.failure, 'the browser failed')
    for (const { place, record } of changes) {
      if (record !== undefined) this.records.set(place, record)
      else for (const one of [...this.records.keys()]) if (one.startsWith(place)) this.records.delete(one)
    }
  }

  async restore(header: VaultHeader, records: Parameters<VaultDatabase['restore']>[1]): Promise<void> {
    if (this.#absenceOf(header.vaultId) === 'cleared') this.header = header
    this.#check(header.vaultId)
    for (const { place, record } of records) if (!this.records.has(place)) this.records.set(place, record)
  }

  async isCleared(vaultId: string): Promise<boolean> {
    return this.#absenceOf(vaultId) === 'cleared'
  }

  async clear(vaultId: string | undefined): Promise<void> {
    const ids = [vaultId, this.header?.vaultId].filter((id) => id !== undefined)
    this.lose()
    this.wiped = ids
  }

  #absenceOf(vaultId: string): ReturnType<typeof whyAbsent> {
    return whyAbsent(vaultId, this.header?.vaultId, this.wiped)
  }

  #check(vaultId: string): void {
    const absence = this.#absenceOf(vaultId)
    if (absence !== undefined) throw new VaultError(ABSENCES[absence], absence)
  }
}
