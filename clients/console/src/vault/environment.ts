/** The browser features that the console needs. Check them before anything else, and show a page that says what is missing. */
type Missing = 'secure_context' | 'storage' | 'locks' | 'channels'

/**
 * WebCrypto exists only in a secure context: HTTPS, or a loopback address.
 * @returns what is missing; empty if the console can run.
 */
export function findMissing(scope: typeof globalThis = globalThis): Missing[] {
  const missing: Missing[] = []
  if (scope.isSecureContext !== true || scope.crypto?.subtle === undefined) missing.push('secure_context')
  if (scope.indexedDB === undefined) missing.push('storage')
  if (scope.navigator?.locks === undefined) missing.push('locks')
  if (scope.BroadcastChannel === undefined) missing.push('channels')
  return missing
}
