import { startLink } from '../../faults/proxy/link.ts'

/** A proxy between some processes and a server. It can cut off the server for these processes only. */
export interface TcpProxy extends AsyncDisposable {
  /** Replaces the server in a URL by this proxy. All URLs must name the same server. */
  through(url: string): string
  /** Ends every connection and refuses new ones, like a machine on which nothing listens. */
  cut(): Promise<void>
  /** Listens again on the same port. */
  mend(): Promise<void>
  /** Holds back all bytes in both directions until `thaw`, and closes nothing, like a peer that disappeared. */
  freeze(): void
  thaw(): void
}

export async function startTcpProxy(): Promise<TcpProxy> {
  const link = await startLink()
  return {
    through: link.through,
    cut: link.cut,
    mend: link.heal,
    freeze: () => link.hold(),
    thaw: () => void link.heal(),
    [Symbol.asyncDispose]: () => link[Symbol.asyncDispose](),
  }
}
