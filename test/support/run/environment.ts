/** The part of the test's environment that a started program gets: the PATH, and the cache of compiled code (global-setup.ts). */
export const ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}
