import { dirname } from 'node:path'
import { SERVICE } from '@svc/contracts/limits.ts'

interface Made {
  readonly version: string
  /** Of the image in a registry, without a tag. */
  readonly image: string | undefined
  readonly digest: string
  /** In the folder of the release. */
  readonly files: readonly string[]
}

/**
 * What publishes a release, in this order, in its folder. Only `npm publish` and `gh release create` cannot be repeated.
 * Signatures are keyless: cosign takes the identity of the workflow or of the person.
 */
export function publishCommands({ version, image, digest, files }: Made): [program: string, ...args: string[]][] {
  const name = image ?? '<RELEASE_IMAGE>'
  const chart = `${SERVICE.name}-${version}.tgz`
  return [
    // The digest stays that of the build: skopeo would compress the layers otherwise.
    ['skopeo', 'copy', '--all', '--preserve-digests', `oci:image:${version}`, `docker://${name}:${version}`],
    ['cosign', 'sign', '--yes', `${name}@${digest}`],
    ['cosign', 'attest', '--yes', '--type', 'cyclonedx', '--predicate', 'image.cdx.json', `${name}@${digest}`],
    // Beside the image. The chart has no signature of its own in the registry: its file is attested.
    ['helm', 'push', chart, `oci://${image === undefined ? '<registry>' : dirname(image)}`],
    ...files
      .filter((file) => file.endsWith('.tgz') && file !== chart)
      .map((file): [string, ...string[]] => ['npm', 'publish', '--access', 'public', `./${file}`]),
    [
      ...(['gh', 'release', 'create', `v${version}`, '--verify-tag', '--title', version] as const),
      ...['--notes', 'CHANGELOG.md says what changed.'],
      ...files.filter((file) => /^(?:SHA256SUMS|server\.json)$|\.(?:cdx\.json|mcpb|tgz|tar\.gz)$/.test(file)),
    ],
  ]
}
