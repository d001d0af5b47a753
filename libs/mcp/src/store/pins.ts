import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createFile, makeFolder, readCreated } from './files.ts'

/** A name and its public key at first use. */
interface Pin {
  readonly name: string
  readonly agentId: string
  /** `ed25519:<HEX>`. */
  readonly pubkey: string
  /** The source: the service's directory at first use, or the person who configured the server. */
  readonly by: 'first use' | 'configuration'
}

/** Pinned keys. Each name has a file, which is never overwritten. */
export interface Pins {
  ofName(name: string): Pin | undefined
  ofAgent(agentId: string): Pin | undefined
  /** Stores a pin. @returns the pin that is valid for the name. An earlier pin wins. */
  add(pin: Pin): Pin
}

export function createPins(folder: string): Pins {
  const pins = join(folder, 'pins')
  makeFolder(pins)
  const byName = new Map<string, Pin>()
  const read = (name: string): Pin | undefined => {
    const known = byName.get(name)
    if (known !== undefined) return known
    const text = readCreated(join(pins, name)) ?? ''
    if (text === '') return undefined
    const pin = JSON.parse(text) as Pin
    byName.set(name, pin)
    return pin
  }
  return {
    ofName: read,
    ofAgent(agentId) {
      for (const name of readdirSync(pins)) {
        if (name.endsWith('.tmp')) continue
        const pin = read(name)
        if (pin?.agentId === agentId) return pin
      }
      return undefined
    },
    add(pin) {
      createFile(join(pins, pin.name), JSON.stringify(pin))
      return read(pin.name) ?? pin
    },
  }
}
