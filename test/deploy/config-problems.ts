/**
 * `node test/deploy/config-problems.ts <[service, environment][]>`, in JSON, prints the errors of the services' readers for
 * these environments. It is a separate process for the reason in variables.ts.
 */
const environments = JSON.parse(process.argv[2] ?? '[]') as [string, NodeJS.ProcessEnv][]
const problems: string[] = []
for (const [service, env] of environments) {
  const { readConfig } = await import(new URL(`../../services/${service}/src/config.ts`, import.meta.url).href)
  try {
    readConfig(env)
  } catch (error) {
    problems.push(`${service}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
console.log(JSON.stringify(problems))
