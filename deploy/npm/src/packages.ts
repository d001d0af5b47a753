/** What is published. Names, licence, author and repository are the owner's choice, made only here. */
import { SERVICE } from '@svc/contracts/limits.ts'

/** While a value begins with this, packages are marked `private`, so npm refuses to publish them, and the registry refuses the name. */
export const PLACEHOLDER = 'OWNER'

/** OWNER: choose these before the first release. */
export const OWNER = {
  /** An SPDX expression, e.g. `Apache-2.0`. */
  licence: `${PLACEHOLDER} chooses a licence`,
  repository: `${PLACEHOLDER} names the URL of the repository`,
  author: `${PLACEHOLDER} names the author`,
  /** What the registry of MCP servers lets the owner publish under, e.g. `io.github.<user>` or a reversed domain. */
  namespace: `${PLACEHOLDER}-names-the-namespace`,
} as const

/** The mailbox in the registry of MCP servers. The registry looks for it in the npm package, as `mcpName`. */
export const REGISTRY_NAME = `${OWNER.namespace}/${SERVICE.name}`

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
  /** Folders of this repository that the package carries: name in the package, and folder here. */
  readonly data?: Readonly<Record<string, string>>
  /** The name of its server in the registry of MCP servers. */
  readonly mcpName?: string
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
    mcpName: REGISTRY_NAME,
  },
  {
    name: '@svc/conformance',
    description: 'Judges servers and clients of the signed agent messaging protocol, rule by rule',
    folder: 'clients/conformance',
    exports: {},
    node: {},
    bin: { 'svc-conformance': '@svc/conformance/main' },
    data: {
      cases: 'clients/conformance/cases',
      'client-cases': 'clients/conformance/client-cases',
      specification: 'docs/specification',
      vectors: 'docs/vectors',
    },
    engines: '>=22',
    browser: false,
  },
]
