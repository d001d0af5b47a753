/** Preloaded into a gateway: each SIGUSR2 causes an unhandled error. */
process.on('SIGUSR2', () => Promise.reject(new Error('nobody handles this')))
