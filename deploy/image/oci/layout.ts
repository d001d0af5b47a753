/** Writes an image in the OCI image layout, which `skopeo`, `podman` and registries can read. */
import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly architecture: Architecture; readonly os: 'linux' }
  readonly annotations?: Readonly<Record<string, string>>
}

export type Architecture = 'amd64' | 'arm64'

/** One image for one architecture. */
export interface PlatformImage {
  readonly architecture: Architecture
  /** Tar files, the lowest layer first. They are moved into the layout. */
  readonly layers: readonly string[]
}

interface ImageFacts {
  /** RFC 3339. */
  readonly created: string
  readonly labels: Readonly<Record<string, string>>
  /** The member `config` of the image configuration, except its labels. */
  readonly config: Readonly<Record<string, unknown>>
  readonly tag: string
}

const INDEX = 'application/vnd.oci.image.index.v1+json'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
/** Not compressed, because a compressor's output depends on its version and the processor, and the digest depends on the output. */
const LAYER = 'application/vnd.oci.image.layer.v1.tar'

/** @returns the digest of the index. An image is deployed by this digest, which covers all architectures. */
export async function writeLayout(
  folder: string,
  images: readonly PlatformImage[],
  facts: ImageFacts,
): Promise<string> {
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
  const manifests: Descriptor[] = []
  for (const image of images) manifests.push(await writeImage(folder, image, facts))
  const annotations = {
    'org.opencontainers.image.created': facts.created,
    ...facts.labels,
  }
  const index = writeJson(folder, INDEX, { schemaVersion: 2, mediaType: INDEX, manifests, annotations })
  const entry = { ...index, annotations: { 'org.opencontainers.image.ref.name': facts.tag } }
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [entry] }))
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  return index.digest
}

async function writeImage(
  folder: string,
  { architecture, layers }: PlatformImage,
  facts: ImageFacts,
): Promise<Descriptor> {
  const blobs: Descriptor[] = []
  for (const layer of layers) blobs.push(await moveBlob(folder, layer))
  const config = writeJson(folder, CONFIG, {
    created: facts.created,
    architecture,
    os: 'linux',
    config: { ...facts.config, Labels: facts.labels },
    rootfs: { type: 'layers', diff_ids: blobs.map(({ digest }) => digest) },
    history: blobs.map(() => ({ created: facts.created, created_by: 'deploy/image/oci' })),
  })
  const manifest = writeJson(folder, MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, config, layers: blobs })
  return { ...manifest, platform: { architecture, os: 'linux' } }
}

async function moveBlob(folder: string, file: string): Promise<Descriptor> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  const hex = hash.digest('hex')
  const { size } = statSync(file)
  renameSync(file, join(folder, 'blobs/sha256', hex))
  return { mediaType: LAYER, digest: `sha256:${hex}`, size }
}

function writeJson(folder: string, mediaType: string, value: object): Descriptor {
  const bytes = Buffer.from(JSON.stringify(value))
  const hex = createHash('sha256').update(bytes).digest('hex')
  writeFileSync(join(folder, 'blobs/sha256', hex), bytes)
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length }
}
