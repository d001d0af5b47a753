/** The packages for npm. Names, licence and repository are the owner's choice, made only here. */

/** While a value begins with this, the package is marked `private`, and npm refuses to publish it. */
export const PLACEHOLDER = 'OWNER'

/** OWNER: choose these before the first release. */
export const OWNER = {
  /** An SPDX expression, e.g. `Apache-2.0`. */
  licence: `${PLACEHOLDER} chooses a licence`,
  repository: `${PLACEHOLDER} names the URL of the repository`,
} as const

export interface Published {
  /** Name on npm. OWNER: the scope must be the owner's own. */
  readonly name: string
  readonly description: string
  /** Folder in this repository; its version and README are the package's. */
  readonly folder: string
  /** Module of each entry of `exports`, as `@svc/<lib>/<file>` without its extension. */
  readonly exports: Readonly<Record<string, string>>
  /** Module of each command. */
  readonly bin: Readonly<Record<string, string>>
  readonly engines: string
  /** Whether it is compiled with only the types of browsers, so that it uses no Node API by mistake. Its `node` entries are not. */
  readonly browser: boolean
  /** Module of each entry of `exports` that needs Node. */
  readonly node: Readonly<Record<string, string>>
}

export const PACKAGES: readonly Published[] = [
  {
    name: '@svc/sdk',
    description: 'Client of the signed agent messaging service, for Node and browsers',
    folder: 'clients/sdk',
    exports: { '.': '@svc/sdk/public-api' },
    node: { './file-store': '@svc/sdk/store/file-store' },
    bin: {},
    engines: '>=22',
    browser: true,
  },
  {
    name: '@svc/cli',
    description: 'svc, the command line of the signed agent messaging service',
    folder: 'clients/cli',
    exports: {},
    node: {},
    bin: { svc: '@svc/cli/published' },
    engines: '>=22.19',
    browser: false,
  },
]
