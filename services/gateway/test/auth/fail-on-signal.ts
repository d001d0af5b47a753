/** Preloaded into a gateway that is to meet an error that nobody handles: one for each SIGUSR2. */
process.on('SIGUSR2', () => Promise.reject(new Error('nobody handles this')))
