// The build knows the browser's globals alone, so that nothing of Node slips in; this is what is used where it is there.
declare const setImmediate: ((callback: () => void) => unknown) | undefined
