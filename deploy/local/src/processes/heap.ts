import type { ServiceName } from '../topology.ts'

/**
 * MiB that a service allocates between two collections of its young objects. On a large machine, V8 would choose 64. Some
 * processes then reached the limit of their small old generation first, and repeated full collections instead of collecting
 * only the young objects. In a container, V8 adapts to the container's memory.
 */
const YOUNG_MIB = 16

/** Arguments for Node. A gateway gets none: its requests live until they are answered, and under overload there are many. */
export function heapArgs(service: ServiceName): string[] {
  return service === 'gateway' ? [] : [`--max-semi-space-size=${YOUNG_MIB}`]
}
