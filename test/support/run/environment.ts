/** What a program that a test starts has of the test's own environment: where commands are, and compiled code (global-setup.ts). */
export const ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
}
