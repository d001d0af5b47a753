import type { ServiceName } from './topology.ts'

/**
 * How much a service allocates between two collections of its young objects, in MiB. V8 would choose 64 on a large machine, and
 * some processes then reached the limit of their small old generation first, and collected everything, again and again,
 * instead of what is young. In a container V8 goes by the memory that it has there.
 */
const YOUNG_MIB = 16

/** Arguments of Node. A gateway has none: its requests live until they are answered, and under overload there are many. */
export function heapArgs(service: ServiceName): string[] {
  return service === 'gateway' ? [] : [`--max-semi-space-size=${YOUNG_MIB}`]
}
