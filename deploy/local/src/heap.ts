/**
 * How much a service allocates between two collections of its young objects, in MiB. V8 would choose 64 on a large machine, and
 * what is young includes the buffers of connections: some processes then reached the limit of their small old generation
 * first, and collected everything, again and again, instead of what is young. The image sets the same.
 */
const YOUNG_MIB = 16

export const HEAP_ARGS = [`--max-semi-space-size=${YOUNG_MIB}`]
