/** The bill of materials of the image, in CycloneDX: what is in its layers, and nothing that only builds or tests them. */
import { Contrib, Enums, Models, Serialize, Spec, Validation } from '@cyclonedx/cyclonedx-library'
import type { Package } from '@svc/build/packages.ts'
import { RELEASE_NUMBER } from './debian.ts'
import type { Architecture } from './layout.ts'
import type { Lock } from './lock.ts'

interface Image {
  readonly name: string
  readonly version: string
  /** Of the index, which covers all architectures. */
  readonly digest: string
  /** RFC 3339: the time of the commit, so that the same commit gives the same bytes. */
  readonly created: string
}

const SPEC = Spec.Spec1dot7
const licences = new Contrib.License.Factories.LicenseFactory(() => {
  throw new Error('expressions are kept as names')
})

/**
 * @param packages what the build of the programs lists.
 * @returns JSON. @throws Error if CycloneDX's own validator refuses it.
 */
export async function makeSbom(
  image: Image,
  {
    lock,
    architectures,
    packages,
  }: { lock: Lock; architectures: readonly Architecture[]; packages: readonly Package[] },
): Promise<string> {
  const purl = `pkg:oci/${image.name}@${encodeURIComponent(image.digest)}`
  const whole = new Models.Component(Enums.ComponentType.Container, image.name, {
    bomRef: purl,
    purl,
    version: image.version,
  })
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ timestamp: new Date(image.created), component: whole }),
  })
  const parts = Object.entries(lock.nodeParts).map(([name, version]) => partComponent(name, version))
  for (const component of [
    ...packages.map(npmComponent),
    ...parts,
    ...architectures.flatMap((architecture) => [
      nodeComponent(lock, architecture, parts),
      ...lock.debian[architecture].map((found) => debianComponent(found, architecture)),
    ]),
  ]) {
    bom.components.add(component)
    whole.dependencies.add(component.bomRef)
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(SPEC))
  const text = serializer.serialize(bom, { sortLists: true, space: 2 })
  const problems = await new Validation.JsonStrictValidator(SPEC.version).validate(text)
  if (problems !== null) throw new Error(`the bill of materials is not valid: ${JSON.stringify(problems)}`)
  return `${text}\n`
}

function npmComponent({ name, version, license }: Package): Models.Component {
  const [last = name, group] = name.split('/').toReversed()
  return component(last, version, {
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(group === undefined ? {} : { group }),
    licenses: new Models.LicenseRepository([licences.makeFromString(license)]),
  })
}

function nodeComponent(
  { node }: Lock,
  architecture: Architecture,
  parts: readonly Models.Component[],
): Models.Component {
  return component('node', node.version, {
    dependencies: new Models.BomRefRepository(parts.map(({ bomRef }) => bomRef)),
    purl: `pkg:generic/node@${node.version}?arch=${architecture}`,
    // Advisories name Node like this.
    cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`,
    hashes: new Models.HashDictionary([
      [Enums.HashAlgorithm['SHA-512'], Buffer.from(node.integrity[architecture].slice(7), 'base64').toString('hex')],
    ]),
  })
}

function partComponent(name: string, version: string): Models.Component {
  const cpe = name === 'openssl' ? { cpe: `cpe:2.3:a:openssl:openssl:${version}:*:*:*:*:*:*:*` } : {}
  return component(name, version, { purl: `pkg:generic/${name}@${encodeURIComponent(version)}`, ...cpe })
}

function debianComponent(
  { name, version, sha256 }: Lock['debian'][Architecture][number],
  architecture: Architecture,
): Models.Component {
  return component(name, version, {
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${RELEASE_NUMBER}`,
    hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]]),
  })
}

function component(
  name: string,
  version: string,
  rest: Models.OptionalComponentProperties & { readonly purl: string },
): Models.Component {
  return new Models.Component(Enums.ComponentType.Library, name, { bomRef: rest.purl, version, ...rest })
}
