/** Set by the bundler (build/build.ts): the address of the bundle of work/worker.ts. */
declare const WORKER_URL: string

declare module '*.css' {}
