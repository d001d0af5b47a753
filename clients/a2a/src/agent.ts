import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'

/** The A2A agent of this machine, which somebody else wrote. */
export class LocalAgent {
  readonly #url: URL
  readonly #token: string | undefined

  /** @param token sent as a bearer token, if the agent wants one. */
  constructor(url: URL, token?: string) {
    this.#url = url
    this.#token = token
  }

  /** Reads the card anew each time, because the agent may have been replaced. @throws if the agent does not answer. */
  async connect(signal: AbortSignal): Promise<Client> {
    const fetchImpl: typeof fetch = (input, init = {}) => {
      // Only the agent that was configured is asked, whatever host its card names.
      const { pathname, search } = new URL(input instanceof Request ? input.url : input)
      const headers = new Headers(init.headers)
      if (this.#token !== undefined) headers.set('authorization', `Bearer ${this.#token}`)
      const either = init.signal ? AbortSignal.any([signal, init.signal]) : signal
      return fetch(new URL(pathname + search, this.#url), { ...init, headers, redirect: 'error', signal: either })
    }
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    })
    return new ClientFactory(options).createFromUrl(this.#url.href)
  }
}
