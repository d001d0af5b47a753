// The build has only the types of the browser, so that no Node API slips in. These are the globals that the SDK uses if they
// exist.
declare const setImmediate: ((callback: () => void) => unknown) | undefined
