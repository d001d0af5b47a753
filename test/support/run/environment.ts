/** The part of the test's own environment that a started program gets: the PATH, and compiled code (global-setup.ts). */
export const ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}
