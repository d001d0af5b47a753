import { followLogin } from '@svc/config/follow-login.ts'
import type { Authenticator, NatsConnection } from 'nats'
import type { FileLogin } from './credentials.ts'
import type { MovingConnection } from './moving-connection.ts'

/**
 * The login of a process that has it in a file. A changed login is tried on a connection of its own, and the process moves to this
 * connection if the server accepts the login. Until then the present connection is used. So the file and the server may change in
 * any order.
 */
export class LoginWatch {
  readonly #read: () => FileLogin
  /** The login that the server accepted last. */
  #accepted: FileLogin
  #tried: FileLogin
  readonly #stop = new AbortController()

  constructor(read: () => FileLogin) {
    this.#read = read
    this.#accepted = read()
    this.#tried = this.#accepted
  }

  /**
   * For one connection. It tries the file's login and the accepted one in turn, because when a connection is lost, either of them
   * may be refused.
   */
  createAuthenticator(): Authenticator {
    let attempts = 0
    return (nonce) => {
      attempts += 1
      this.#tried = attempts % 2 === 1 ? this.#read() : this.#accepted
      return this.#tried.authenticate(nonce)
    }
  }

  /** The user whose login was tried last, for messages. */
  get user(): string {
    return this.#tried.user
  }

  /** A server has accepted the login that was tried last. */
  noteConnected(): void {
    this.#accepted = this.#tried
  }

  /** Looks for a changed login until the process closes its connection. */
  async follow(moving: MovingConnection, options: FollowOptions): Promise<void> {
    void moving.view.closed().then(() => this.#stop.abort())
    await followLogin({
      read: this.#read,
      accepted: () => this.#accepted,
      move: (login) => this.#move(moving, login, options),
      signal: this.#stop.signal,
    })
  }

  async #move(
    moving: MovingConnection,
    login: FileLogin,
    { connect, moved, refused }: FollowOptions,
  ): Promise<boolean> {
    let isOpen = false
    const reopen = this.createAuthenticator()
    try {
      const next = await connect((nonce) => (isOpen ? reopen : login.authenticate)(nonce))
      isOpen = true
      await moving.moveTo(next)
    } catch (error) {
      refused(error, login)
      return false
    }
    this.#accepted = login
    moved(login)
    return true
  }
}

interface FollowOptions {
  /** @throws Error if no server accepts the login. */
  readonly connect: (authenticate: Authenticator) => Promise<NatsConnection>
  readonly moved: (login: FileLogin) => void
  readonly refused: (error: unknown, login: FileLogin) => void
}
