// The build has only the browser's types, so that no Node API is used by mistake. These are the globals that the SDK uses
// if they exist.
declare const setImmediate: ((callback: () => void) => unknown) | undefined
